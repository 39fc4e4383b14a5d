"""`assay up` as a newcomer meets it: start, demo, stop, start again, and what happens when parts of it die."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.store.database.embedded import Server, kill
from tests.support.scratch import scratch
from tests.support.warm import run_assay

PATIENCE_SECONDS = 180


class Up:
    """A running `assay up`."""

    def __init__(self, process: subprocess.Popen[str], data: Path, log: Path) -> None:
        self.process = process
        self.data = data
        self.log = log
        self.url = self.said(r"is up: (\S+)").group(1)

    def said(self, pattern: str) -> re.Match[str]:
        """Wait until it says something."""
        return wait_for(lambda: re.search(pattern, self.log.read_text()), pattern)

    def get(self, path: str) -> dict[str, object]:
        """JSON from its web process, once that answers."""
        return json.loads(wait_for(lambda: fetch(f"{self.url}{path}"), path))

    def child(self, name: str) -> int:
        """The pid of one of its processes."""
        return wait_for(lambda: find_child(self.process.pid, name), name)

    def stop(self) -> int:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE_SECONDS)


def wait_for(look, what: str):
    """Ask until there is an answer."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError(f"never happened: {what}")


def fetch(url: str) -> str | None:
    """The body of a 200 answer."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.read().decode()
    except OSError:
        return None


def find_child(parent: int, name: str) -> int | None:
    """The process of `assay NAME` below a parent."""
    for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if name.encode() in words:
            return int(pid)
    return None


def clean_environment(**settings: str) -> dict[str, str]:
    """This environment without settings of Assay, and with these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    return kept | settings


@contextmanager
def an_assay(data: Path, log: Path, **settings: str) -> Iterator[Up]:
    """`assay up` on a free port, stopped at the latest when the block ends; without scan tools if none are given."""
    tools = {"ASSAY_DEEP_SCAN_DIR": str(data / "no-tools")}
    environment = clean_environment(**{"ASSAY_DATA_DIR": str(data), "ASSAY_PORT": "0", **tools, **settings})
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "assay", "up"], env=environment, stdout=output, stderr=output, text=True
        )
    try:
        yield Up(process, data, log)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One for all tests that leave it as it was; it stops as it should."""
    folder = scratch("assay-data-")
    with an_assay(folder / "data", tmp_path_factory.mktemp("up") / "up.log") as running:
        yield running
        assert running.stop() == 0
    shutil.rmtree(folder)


def test_a_newcomer_starts_tries_stops_and_finds_everything_again(tmp_path: Path, data_folder: Path) -> None:
    """G96: one command starts all, the demo shows what it is for, Ctrl-C loses nothing, a second start has it all."""
    data = data_folder / "data"
    with an_assay(data, tmp_path / "first.log") as first:
        demo = subprocess.run(
            [sys.executable, "-m", "assay", "demo", "--url", first.url],
            env=clean_environment(COLUMNS="200"),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert demo.returncode == 0, demo.stderr
        for name, state in (
            ("changelog-writer", "PUBLISHED"),
            ("secure-code-review", "PUBLISHED"),
            ("system-cleanup", "NEEDS_REVIEW"),
            ("invoice-helper", "TIER1_FAILED"),
            ("weather-now", "TIER1_FAILED"),
        ):
            assert re.search(rf"{name}\s+│\s+{state}", demo.stdout), demo.stdout
        before = first.get("/api/v1/submissions/stats")
        assert first.stop() == 0
    assert "everything is kept" in (tmp_path / "first.log").read_text()
    assert not Server(data / "postgres").is_running()

    with an_assay(data, tmp_path / "second.log") as second:
        after = second.get("/api/v1/submissions/stats")
        assert {**after, "generatedAt": None} == {**before, "generatedAt": None}
        assert after["published"] == 3


def test_without_the_tools_it_says_how_to_get_them(up: Up) -> None:
    """G96: everything else works, and nobody has to guess."""
    up.said("`assay scan-node --install` gets the scan tools")
    assert up.get("/readyz")["ready"]


def test_two_in_one_data_directory_is_refused(up: Up) -> None:
    """A second `assay up` on the same data says so in one line and leaves the first alone."""
    environment = clean_environment(ASSAY_DATA_DIR=str(up.data), ASSAY_PORT="0")
    second = run_assay("up", env=environment, seconds=PATIENCE_SECONDS)
    assert second.returncode == 4
    assert second.stderr == f"assay: `assay up` already runs in {up.data}: set ASSAY_DATA_DIR to another.\n"
    assert up.get("/readyz")["ready"]


def test_what_dies_is_reported_and_started_again(up: Up) -> None:
    """G93, G96: web, worker and PostgreSQL killed with -9 come back by themselves, and the operator is told."""
    for name in ("web", "worker"):
        victim = up.child(name)
        os.kill(victim, signal.SIGKILL)
        up.said(rf"{name} ended with signal 9; starting it again")
        assert wait_for(lambda name=name, victim=victim: up.child(name) != victim, f"a new {name}")
    assert up.get("/readyz")["ready"]
    kill(Server(up.data / "postgres"))
    up.said("PostgreSQL is back")
    assert up.get("/readyz")["ready"]
    assert up.get("/api/v1/submissions/stats")["total"] == 0


def test_children_do_not_outlive_a_killed_supervisor(tmp_path: Path, data_folder: Path) -> None:
    """After kill -9 of `assay up`, its processes leave by themselves and the next start finds the way free."""
    data = data_folder / "data"
    with an_assay(data, tmp_path / "first.log") as first:
        children = [first.child("web"), first.child("worker")]
        first.process.kill()
        first.process.wait()
        wait_for(lambda: all(is_gone(pid) for pid in children), "children leaving")
    with an_assay(data, tmp_path / "second.log") as second:
        assert second.get("/readyz")["ready"]


def is_gone(pid: int) -> bool:
    """Whether a process has ended, looked at or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("command", ["web", "worker", "migrate"])
def test_without_a_running_server_the_others_say_what_to_start(tmp_path: Path, command: str) -> None:
    """`assay web` and its kind never start a database of their own."""
    finished = run_assay(command, env=clean_environment(ASSAY_DATA_DIR=str(tmp_path), ASSAY_PORT="0"), seconds=60)
    assert finished.returncode == 5
    assert finished.stderr.startswith("assay: The embedded PostgreSQL in ")
    assert "start `assay up`" in finished.stderr
    assert finished.stderr.count("\n") == 1
