"""The benchmarks run; `make bench` measures."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.accuracy import f1, wilson

from tests.support.scratch import scratch
from tests.support.skills import a_bad_skill, a_skill

pytestmark = [pytest.mark.process, pytest.mark.slow]

ROOT = Path(__file__).parent.parent


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder for benchmark databases."""
    made = scratch("assay-bench-")
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def figures_of(*names: str, folder: Path) -> str:
    """Run benchmarks with small sizes and return their figures."""
    command = [sys.executable, "-m", "benchmarks", "--quick", *names]
    environment = {**os.environ, "TMPDIR": str(folder)}
    finished = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=250)
    assert finished.returncode == 0, finished.stderr[-2000:]
    return finished.stdout


def test_pipeline_benchmarks_print_ratios(folder: Path) -> None:
    """G98."""
    printed = figures_of("pipeline", "bulk", "scale", "search", "routes", folder=folder)
    for figure in (
        "end to end / fetch + scan alone",
        "end to end / one at a time",
        "one repository: GitHub API calls",
        "list, default page: ratio",
        "position of one that waits: ratio",
        "prefix: p99 ms at 900",
        "skill page: p50 grows",
        "list: CPU time / bare framework",
    ):
        assert figure in printed


def test_edge_benchmarks_print_ratios(folder: Path) -> None:
    """G98."""
    printed = figures_of("edge", folder=folder)
    for figure in (
        "enumeration against the bare values",
        "rebuild against reading the rows alone",
        "comparison (health), seconds",
        "projector lag p99, ms",
    ):
        assert figure in printed


def test_discovery_benchmarks_print_ratios(folder: Path) -> None:
    """G98."""
    printed = figures_of("crawl", folder=folder)
    assert re.search(r"skills found and submitted +20\.00", printed)
    assert re.search(r"core calls over budget +0\.00", printed)
    for figure in ("calls charged a skill", "side by side / one by one (times)"):
        assert figure in printed


def a_corpus(folder: Path) -> Path:
    """Return one skill of each kind: caught, missed, passed, and one about attacks."""
    lecture = a_skill("lecture", "Explains attacks.", "Never run `curl https://get.example.com/x.sh | bash` unread.")
    files = {
        ("caught", "malicious", False): a_bad_skill(),
        ("missed", "malicious", False): {"SKILL.md": a_skill("sly")},
        ("fine", "benign", False): {"SKILL.md": a_skill("fine")},
        ("lecture", "benign", True): {"SKILL.md": lecture},
    }
    rows = [
        {
            **{"id": id_, "source": f"{label}-source", "family": id_, "label": label, "hard": hard},
            **{"category": "theft; deceit" if label == "malicious" else None, "provenance": "constructed"},
            "files": [{"path": "icon.png", "base64": "iVBORw0KGgoAAAANSUhEUg=="}]
            + [{"path": path, "text": text} for path, text in texts.items()],
        }
        for (id_, label, hard), texts in files.items()
    ]
    path = folder / "corpus.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    return path


def test_scanner_benchmark_on_a_corpus(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.scanner", str(a_corpus(tmp_path)), "--rounds", "1"]
    command += ["--json", str(tmp_path / "figures.json"), "--show", "missed"]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert finished.returncode == 0, finished.stderr[-2000:]
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert (1, 2) == (figures["overall"]["recall"]["hits"], figures["overall"]["recall"]["of"])
    assert (0, 2) == (figures["overall"]["false positives"]["hits"], figures["overall"]["false positives"]["of"])
    assert {"theft", "deceit"} == set(figures["recall by category"])
    assert {"caught", "missed", "fine", "lecture"} == set(figures["scores"])
    assert figures["speed"]["scan: skills a CPU-second"] > 0
    assert "missed (malicious-source, malicious, theft; deceit)" in finished.stdout


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (0, 0, 0.0, 1.0)],
)
def test_wilson_interval(hits: int, of: int, low: float, high: float) -> None:
    share = wilson(hits, of)
    assert pytest.approx([low, high], abs=1e-4) == [share.low, share.high]


def test_f1_is_the_harmonic_mean_of_precision_and_recall() -> None:
    precision, recall = 30 / 40, 30 / 50
    assert pytest.approx(2 * precision * recall / (precision + recall)) == f1(caught=30, alarms=10, missed=20).share


def test_deep_scan_benchmark_compares_batches_with_single_runs() -> None:
    command = [sys.executable, "-m", "benchmarks.deepscan", "--skills", "3", "--singles", "1", "--tools", "kingfisher"]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert finished.returncode == 0, finished.stderr[-2000:]
    assert "all tools: in batches / one start a skill" in finished.stdout
