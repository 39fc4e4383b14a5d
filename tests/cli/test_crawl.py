"""`assay crawl`: once, as a dry run, and continuously."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.support.cli.live import Live, at_a_terminal
from tests.support.skills import a_repository

pytestmark = pytest.mark.process


def chosen(place: Path) -> dict[str, str]:
    return {"ASSAY_DISCOVERY_LIST": str(place), "ASSAY_DISCOVERY_SOURCES": "list"}


def test_crawl_runs_until_stopped(live: Live, tmp_path: Path) -> None:
    """G87: sources register and run; SIGTERM stops cleanly. Runs first, because a failure delays a source."""
    live.github.add_repository("scheduled/r", files=a_repository("one"))
    place = tmp_path / "list.txt"
    place.write_text("scheduled/r")
    environment = live.environment | chosen(place)
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", "crawl"], env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 60
        while not live.submissions_of("scheduled/r"):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        health = live.get("/queue/health")
        [source] = [each for each in health["discovery"]["sources"] if each["name"] == "list"]
        assert source["scheduled"]
        assert "crawler" in {each["kind"] for each in health["processes"]}
        with urlopen(f"{live.url}/metrics", timeout=30) as metrics:
            assert b'assay_discovery_runs{source="list"}' in metrics.read()
    finally:
        process.send_signal(signal.SIGTERM)
        assert 0 == process.wait(60)


def test_crawl_shows_a_table_on_a_terminal(live: Live) -> None:
    """G87, G90: one row per source, with unconfigured ones named; Ctrl-C is no failure."""
    live.github.add_repository("watched/r", files=a_repository("one", "two"))
    owner = {"ASSAY_DISCOVERY_SOURCES": "organisations,code-search", "ASSAY_DISCOVERY_ORGANISATIONS": "watched"}
    seen, code = at_a_terminal(live, "crawl", shows=b"complete", interrupt_after=1, **owner)
    assert code == 0
    assert {"one", "two"} == set(live.submissions_of("watched/r"))
    assert re.search(rb"Skipped discovery sources.*code-search", seen)
    # A log line replaces the table, which is redrawn below it.
    before, _, after = seen.partition(b"Discovery run ended")
    assert b"organisations" in before
    assert b"organisations" not in before.rpartition(b"\r")[2]
    assert b"organisations" in after.partition(b"\n")[2]


def test_dry_run_then_run_once(live: Live, tmp_path: Path) -> None:
    """G85: a dry run writes nothing; then the candidates are taken, up to the maximum."""
    names = [f"crawled/r{number}" for number in range(3)]
    for name in names:
        live.github.add_repository(name, files=a_repository("one", "two"))
    place = tmp_path / "list.txt"
    place.write_text("\n".join(names))
    dry = live.assay("crawl", "list", "--dry-run", **chosen(place))
    assert (0, 3) == (dry.code, dry.out.count("would add crawled/r"))
    assert {} == live.submissions_of(names[0])
    first = live.assay("crawl", "--once", "--max", "2", "--json", **chosen(place))
    assert first.code == 0, first.err
    [run] = first.json["runs"]
    assert ("capped", 2, 4) == (run["outcome"], run["new"], run["enqueued"])
    rest = live.assay("crawl", "--once", **chosen(place))
    assert (0, "list complete found=3 new=1 known=2 enqueued=2 errors=0") == (
        rest.code,
        rest.out.partition(" calls")[0],
    )
    assert {"one", "two"} == set(live.submissions_of(names[2]))
    assert "discovery" == live.submissions_of(names[2])["one"]["source"]


def test_crawl_errors_have_exit_codes(live: Live, tmp_path: Path) -> None:
    """G92: unconfigured, unreadable and unknown sources."""
    absent = live.assay("crawl", "code-search", "--once", **chosen(tmp_path / "list.txt"))
    assert (3, True) == (absent.code, "Available sources: list" in absent.err)
    broken = live.assay("crawl", "--once", **chosen(tmp_path / "nothing.txt"))
    assert (5, True) == (broken.code, "cannot be read" in broken.out)
    wrong = live.assay("crawl", "--once", ASSAY_DISCOVERY_SOURCES="everything")
    assert (2, True) == (wrong.code, "ASSAY_DISCOVERY_SOURCES" in wrong.err)
    assert 2 == live.assay("crawl", "--once", "--max", "5001", **chosen(tmp_path / "list.txt")).code
