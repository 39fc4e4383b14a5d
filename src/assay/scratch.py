"""Scratch folders: temporary, and gone also after the process that made them was killed."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import structlog

log = structlog.get_logger()
PREFIX = "assay-scratch-"
# Whoever makes a folder has locked it long before.
OLD_SECONDS = 3_600


@contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """An empty folder for as long as the block lasts. Those that dead processes have left are removed first."""
    sweep_once(tempfile.gettempdir())
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{purpose}-") as name:
        # The kernel gives the lock back when the process ends, however it ends.
        lock = os.open(name, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield Path(name)
        finally:
            os.close(lock)


@cache
def sweep_once(place: str) -> None:
    """Remove the folders that nobody holds any more, once a process."""
    for folder in Path(place).glob(f"{PREFIX}*"):
        if _is_left_behind(folder):
            try:
                shutil.rmtree(folder)
            except OSError as problem:  # two processes may sweep at once; what stays is in nobody's way
                log.warning("A scratch folder cannot be removed", folder=str(folder), problem=str(problem))


def _is_left_behind(folder: Path) -> bool:
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:  # it has just gone, is somebody else's, or is no folder
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return time.time() - os.fstat(lock).st_mtime > OLD_SECONDS
    except OSError:  # somebody holds it, or there are no locks here: then it stays
        return False
    finally:
        os.close(lock)
