"""A skill in a local folder: its files, checked against the limits, and their content."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from assay.cli.skill_folders.walk import unreadable
from assay.fetch.limits import Limits
from assay.fetch.paths import path_problem
from assay.model.errors import Invalid

# Links are not followed, and a pipe that replaced a file does not block.
OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class LocalSkill:
    """A folder with a SKILL.md, and its files as paths below the folder."""

    folder: Path
    files: tuple[str, ...]
    size_bytes: int

    @property
    def name(self) -> str:
        return self.folder.name or "skill"

    @property
    def hidden_files(self) -> tuple[str, ...]:
        """The files whose name, or that of a folder on their path, starts with a dot."""
        return tuple(path for path in self.files if path.startswith(".") or "/." in path)


def checked_skill(folder: Path, files: tuple[str, ...], limits: Limits) -> LocalSkill:
    """Return the skill with these files. Raises Invalid for an exceeded limit or an unsafe path."""
    name = folder.name or "skill"
    if len(files) > limits.skill_files:
        raise Invalid(f"{str(folder)!r} contains {len(files):,} files; a skill may have {limits.skill_files:,}.")
    for path in files:
        if problem := path_problem(f"{name}/{path}", limits):
            raise Invalid(f"The path of {str(folder / path)!r} {problem}.")
    size_bytes = sum(_checked_size(folder / path, limits) for path in files)
    if size_bytes > limits.skill_bytes:
        raise Invalid(f"{str(folder)!r} has {size_bytes:,} bytes; a skill may have {limits.skill_bytes:,}.")
    return LocalSkill(folder, files, size_bytes)


def read_content(path: Path, limits: Limits) -> bytes:
    """Return the bytes of a regular file, checking its type and size again. Raises Invalid."""
    try:
        with os.fdopen(os.open(path, OPEN_FLAGS), "rb") as file:
            is_regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            content = file.read(limits.file_bytes + 1) if is_regular else b""
    except OSError as problem:
        raise unreadable(path, problem) from None
    if not is_regular:
        raise Invalid(f"{str(path)!r} is no longer a regular file.")
    if len(content) > limits.file_bytes:
        raise Invalid(f"{str(path)!r} has more than {limits.file_bytes:,} bytes, the limit for a file.")
    return content


def _checked_size(path: Path, limits: Limits) -> int:
    try:
        size = path.lstat().st_size
    except OSError as problem:
        raise unreadable(path, problem) from None
    if size > limits.file_bytes:
        raise Invalid(f"{str(path)!r} has {size:,} bytes; a file may have {limits.file_bytes:,}.")
    return size
