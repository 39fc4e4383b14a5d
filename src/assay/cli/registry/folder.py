"""Skills in folders of this machine: found, held against the limits, packed so that equal files are equal bytes."""

import gzip
import io
import os
import tarfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from assay.fetch.limits import Limits
from assay.fetch.paths import folder_of, problem_with
from assay.model.errors import Invalid

SKILL = "SKILL.md"
EXECUTABLE, PLAIN = 0o755, 0o644


@dataclass(frozen=True)
class LocalSkill:
    """A folder with a SKILL.md, and the files of it that are sent, by their path below it."""

    folder: Path
    files: tuple[str, ...]
    size_bytes: int

    @property
    def name(self) -> str:
        """What the folder is called."""
        return self.folder.name or "skill"


@dataclass(frozen=True)
class Found:
    """The skills of a folder, and what of it is not sent."""

    skills: tuple[LocalSkill, ...]
    left_out: tuple[str, ...]


@dataclass
class _Tree:
    """Paths below a folder. What is odd is a link, a device or the like."""

    files: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)


def find_skills(folder: Path, limits: Limits, *, nested: bool) -> Found:
    """The skill in this folder, or else all below it; `nested` asks for those inside a skill, too.

    Invalid names what cannot be sent: a link, a file too many or too large, a path that would be refused.
    """
    root = folder.resolve()
    tree = _walk(root, limits)
    homes = {folder_of(path) for path in (*tree.files, *tree.odd) if path.rpartition("/")[2] == SKILL}
    if not homes:
        raise Invalid(f"{str(folder)!r} holds no {SKILL}, and no folder below it does.", code="no_skill")
    wanted = [""] if "" in homes and not nested else sorted(homes)
    files, odd = by_home(tree.files, homes), by_home(tree.odd, homes)
    for home in wanted:
        if odd[home]:
            raise Invalid(f"{str(root / odd[home][0])!r} is a link or a device: only files can be sent.")
    skills = tuple(checked_skill(root / home, home, files[home], limits) for home in wanted)
    inside = sorted(homes - set(wanted))
    return Found(skills, (*tree.hidden, *odd[None], *(f"{home}, a skill of its own" for home in inside)))


def pack(skill: LocalSkill, limits: Limits) -> bytes:
    """A tar.gz with no times, no owners and no chance in it."""
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", filename="", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as archive,
    ):
        for path in skill.files:
            content = content_of(skill.folder / path, limits)
            entry = tarfile.TarInfo(f"{skill.name}/{path}")
            entry.size = len(content)
            entry.mode = EXECUTABLE if os.access(skill.folder / path, os.X_OK) else PLAIN
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _walk(root: Path, limits: Limits) -> _Tree:
    """Everything below a folder; what is hidden is not looked into."""
    tree, folders = _Tree(), [""]
    while folders:
        folder = folders.pop()
        for entry in entries_of(root / folder):
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name.startswith("."):
                tree.hidden.append(path)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(path)
            else:
                (tree.files if entry.is_file(follow_symlinks=False) else tree.odd).append(path)
        if len(tree.files) + len(tree.odd) + len(folders) > limits.archive_entries:
            raise Invalid(f"{str(root)!r} holds more than {limits.archive_entries:,} files: name the skill's folder.")
    for paths in (tree.files, tree.odd, tree.hidden):
        paths.sort()
    return tree


def entries_of(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder; Invalid if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as problem:
        raise _unreadable(folder, problem) from None


def by_home(paths: Iterable[str], homes: set[str]) -> defaultdict[str | None, list[str]]:
    """Paths by the innermost skill that they are part of; None has those that are part of none."""
    grouped: defaultdict[str | None, list[str]] = defaultdict(list)
    for path in paths:
        home = folder_of(path)
        while home and home not in homes:
            home = folder_of(home)
        grouped[home if home in homes else None].append(path)
    return grouped


def checked_skill(folder: Path, home: str, paths: list[str], limits: Limits) -> LocalSkill:
    """The skill of these paths, which begin with its home; Invalid names the limit that it breaks."""
    start = len(home) + 1 if home else 0
    name, files = folder.name or "skill", tuple(path[start:] for path in paths)
    if len(files) > limits.skill_files:
        raise Invalid(f"{str(folder)!r} holds {len(files):,} files; a skill may have {limits.skill_files:,}.")
    for path in files:
        if problem := problem_with(f"{name}/{path}", limits):
            raise Invalid(f"The path of {str(folder / path)!r} {problem}.")
    sizes = {path: _size(folder / path) for path in files}
    for path, size in sizes.items():
        _check_size(folder / path, size, limits)
    size_bytes = sum(sizes.values())
    if size_bytes > limits.skill_bytes:
        raise Invalid(f"{str(folder)!r} has {size_bytes:,} bytes; a skill may have {limits.skill_bytes:,}.")
    return LocalSkill(folder, files, size_bytes)


def _check_size(path: Path, size: int, limits: Limits) -> None:
    if size > limits.file_bytes:
        raise Invalid(f"{str(path)!r} has {size:,} bytes; a file may have {limits.file_bytes:,}.")


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError as problem:
        raise _unreadable(path, problem) from None


def content_of(path: Path, limits: Limits) -> bytes:
    """The bytes of a file, which may have grown since it was found; Invalid if it cannot be read."""
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise _unreadable(path, problem) from None
    _check_size(path, len(content), limits)
    return content


def _unreadable(path: Path, problem: OSError) -> Invalid:
    return Invalid(f"{str(path)!r} cannot be read: {problem.strerror}.")
