"""`assay up`: start, demo, stop, restart, and dying processes."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.store.database.embedded import EmbeddedServer, kill
from tests.support.cli.up import PATIENCE_SECONDS, Up, an_assay, clean_environment, wait_for
from tests.support.scratch import scratch
from tests.support.warm import run_assay

pytestmark = [pytest.mark.process, pytest.mark.slow]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """Start one instance for all tests that leave it unchanged."""
    folder = scratch("assay-data-")
    with an_assay(folder / "data", tmp_path_factory.mktemp("up") / "up.log") as running:
        yield running
        assert running.stop() == 0
    shutil.rmtree(folder)


def test_first_start_demo_stop_and_restart(tmp_path: Path, data_folder: Path) -> None:
    """G96: Ctrl-C loses nothing."""
    data = data_folder / "data"
    with an_assay(data, tmp_path / "first.log") as first:
        demo = subprocess.run(
            [sys.executable, "-m", "assay", "demo"],
            env=first.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert demo.returncode == 0, demo.stderr
        assert demo.stderr.startswith("Acting as the operator of this registry (namespace local).\n")
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
    assert "All data is kept" in (tmp_path / "first.log").read_text()
    assert not EmbeddedServer(data / "postgres").is_running()

    with an_assay(data, tmp_path / "second.log") as second:
        after = second.get("/api/v1/submissions/stats")
        assert {**after, "generatedAt": None} == {**before, "generatedAt": None}
        assert after["published"] == 3


def test_missing_scan_tools_are_reported(up: Up) -> None:
    """G96: everything else works."""
    up.said("`assay scan-node --install` installs the scan tools")
    assert up.get("/readyz")["ready"]


def test_second_start_in_a_data_directory_is_rejected(up: Up) -> None:
    environment = clean_environment(ASSAY_DATA_DIR=str(up.data), ASSAY_PORT="0")
    second = run_assay("up", env=environment, seconds=PATIENCE_SECONDS)
    assert second.returncode == 4
    assert (
        second.stderr
        == f"assay: `assay up` is already running in {up.data}: set ASSAY_DATA_DIR to another directory.\n"
    )
    assert up.get("/readyz")["ready"]


def test_killed_processes_are_restarted(up: Up) -> None:
    """G93, G96: web, worker and PostgreSQL after kill -9."""
    for name in ("web", "worker"):
        victim = up.child(name)
        os.kill(victim, signal.SIGKILL)
        up.said(rf"{name} ended with signal 9; restarting it")
        assert wait_for(lambda name=name, victim=victim: up.child(name) != victim, f"a new {name}")
    assert up.get("/readyz")["ready"]
    kill(EmbeddedServer(up.data / "postgres"))
    up.said("PostgreSQL is running again")
    assert up.get("/readyz")["ready"]
    assert up.get("/api/v1/submissions/stats")["total"] == 0


def test_children_exit_after_the_supervisor_is_killed(tmp_path: Path, data_folder: Path) -> None:
    data = data_folder / "data"
    with an_assay(data, tmp_path / "first.log") as first:
        children = [first.child("web"), first.child("worker")]
        first.process.kill()
        first.process.wait()
        wait_for(lambda: all(is_gone(pid) for pid in children), "children leaving")
    with an_assay(data, tmp_path / "second.log") as second:
        assert second.get("/readyz")["ready"]


def is_gone(pid: int) -> bool:
    """Return whether a process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("command", ["web", "worker", "migrate"])
def test_other_commands_do_not_start_a_database(tmp_path: Path, command: str) -> None:
    """They say what to start."""
    finished = run_assay(command, env=clean_environment(ASSAY_DATA_DIR=str(tmp_path), ASSAY_PORT="0"), seconds=60)
    assert finished.returncode == 5
    assert finished.stderr.startswith("assay: The embedded PostgreSQL in ")
    assert "Start `assay up`" in finished.stderr
    assert finished.stderr.count("\n") == 1
