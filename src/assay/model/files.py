"""Files that are made once and must be whole from the first moment."""

import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex


def write_once(file: Path, content: bytes) -> None:
    """Write a private file unless it is there: of two processes that try at once, the first wins for both."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{token_hex(4)}")
    draft.touch(mode=0o600)
    draft.write_bytes(content)
    with suppress(FileExistsError):
        os.link(draft, file)
    draft.unlink()
