"""Folders for the databases of tests: in memory where there is room, because a test makes and removes a thousand files."""

import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 4 * 1024**3


def scratch(prefix: str) -> Path:
    """A folder of its own; whoever asks removes it. pytest's own are closed to the system user of PostgreSQL."""
    has_room = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ENOUGH_BYTES
    return Path(tempfile.mkdtemp(prefix=prefix, dir=MEMORY if has_room else None))
