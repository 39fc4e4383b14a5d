"""Scratch folders are removed however their process ended."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.scratch import OLD_SECONDS, PREFIX, scratch_folder, sweep_once

pytestmark = pytest.mark.process

HOLDING = (
    "import sys\nfrom assay.scratch import scratch_folder\n"
    "with scratch_folder('test') as folder:\n"
    "    (folder / 'kept.txt').write_text('x')\n    print(folder, flush=True)\n    sys.stdin.read()\n"
)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a temporary directory that has not been swept."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    sweep_once.cache_clear()
    yield tmp_path
    sweep_once.cache_clear()


def holder() -> tuple[subprocess.Popen[str], Path]:
    """Start a process that holds a folder until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def make_old(folder: Path) -> None:
    past = folder.stat().st_mtime - OLD_SECONDS - 60
    os.utime(folder, (past, past))


def test_folder_is_removed_with_its_block(place: Path) -> None:
    with scratch_folder("test") as folder:
        (folder / "a.txt").write_text("a")
    assert list(place.iterdir()) == []


def test_folder_of_a_killed_process_is_removed_by_the_next(place: Path) -> None:
    process, folder = holder()
    process.kill()
    process.communicate()
    assert (folder / "kept.txt").exists()
    make_old(folder)
    with scratch_folder("test") as mine:
        assert list(place.iterdir()) == [mine]


def test_held_new_and_foreign_folders_are_kept(place: Path) -> None:
    """A new folder may not be locked yet."""
    process, held = holder()
    make_old(held)
    new = place / f"{PREFIX}new"
    other = place / "other"
    for folder in (new, other):
        folder.mkdir()
    make_old(other)
    link = place / f"{PREFIX}link"
    link.symlink_to(other)
    with scratch_folder("test"):
        assert held.exists()
        assert new.exists()
        assert other.exists()
        assert link.is_symlink()
    process.communicate()
    assert not held.exists()
