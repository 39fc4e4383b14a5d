"""Folders for test databases, in memory where possible."""

import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 4 * 1024**3


def scratch(prefix: str) -> Path:
    """Create a folder that the caller removes; PostgreSQL's system user cannot read pytest's folders."""
    has_room = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ENOUGH_BYTES
    return Path(tempfile.mkdtemp(prefix=prefix, dir=MEMORY if has_room else None))
