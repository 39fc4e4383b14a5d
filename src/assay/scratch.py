"""Scratch folders that do not outlive their process, and files written atomically."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from secrets import token_hex

import structlog

log = structlog.get_logger()
PREFIX = "assay-scratch-"
# A younger folder may have been created, but not locked yet.
OLD_SECONDS = 3_600


@contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """Yield an empty folder that is removed afterwards; first remove the folders of dead processes."""
    sweep_once(tempfile.gettempdir())
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{purpose}-") as name:
        # The kernel releases the lock when the process ends, even if it is killed.
        lock = os.open(name, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield Path(name)
        finally:
            os.close(lock)


@cache
def sweep_once(parent: str) -> None:
    """Remove unlocked scratch folders, once per process."""
    for folder in Path(parent).glob(f"{PREFIX}*"):
        if _is_left_behind(folder):
            try:
                shutil.rmtree(folder)
            except OSError as error:  # another process may sweep at the same time
                log.warning("Failed to remove a scratch folder", folder=str(folder), error=str(error))


def _is_left_behind(folder: Path) -> bool:
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:  # removed meanwhile, owned by another user, or not a folder
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return time.time() - os.fstat(lock).st_mtime > OLD_SECONDS
    except OSError:  # locked, or the file system has no locks: keep it
        return False
    finally:
        os.close(lock)


def write_once(file: Path, content: bytes) -> None:
    """Write a private file (mode 0600) unless it exists. Atomic: of concurrent processes, the first one wins."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{token_hex(4)}")
    draft.touch(mode=0o600)
    draft.write_bytes(content)
    with suppress(FileExistsError):
        os.link(draft, file)
    draft.unlink()
