"""Skills in local folders: finding them, checking the limits, and packing them reproducibly."""

import gzip
import io
import os
import tarfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from assay.fetch.limits import Limits
from assay.fetch.paths import folder_of, path_problem
from assay.model.errors import Invalid

SKILL = "SKILL.md"
EXECUTABLE, PLAIN = 0o755, 0o644


@dataclass(frozen=True)
class LocalSkill:
    """A folder with a SKILL.md, and the files to send, as paths below the folder."""

    folder: Path
    files: tuple[str, ...]
    size_bytes: int

    @property
    def name(self) -> str:
        return self.folder.name or "skill"


@dataclass(frozen=True)
class LocalSkills:
    """The skills of a folder, and descriptions of everything that is not sent."""

    skills: tuple[LocalSkill, ...]
    left_out: tuple[str, ...]


@dataclass
class _Tree:
    """Paths below a folder; `special` are links, devices and the like."""

    files: list[str] = field(default_factory=list)
    special: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)


def find_skills(folder: Path, limits: Limits, *, nested: bool) -> LocalSkills:
    """Return the skill in this folder, or else all skills below it; `nested` includes skills inside a skill.

    Raises Invalid, naming the file that cannot be sent: a link, an exceeded limit, or an unsafe path.
    """
    root = folder.resolve()
    tree = _walk(root, limits)
    skill_folders = {folder_of(path) for path in (*tree.files, *tree.special) if path.rpartition("/")[2] == SKILL}
    if not skill_folders:
        raise Invalid(f"There is no {SKILL} in or below {str(folder)!r}.", code="no_skill")
    selected = [""] if "" in skill_folders and not nested else sorted(skill_folders)
    files, special = group_by_skill(tree.files, skill_folders), group_by_skill(tree.special, skill_folders)
    for each in selected:
        if special[each]:
            raise Invalid(f"{str(root / special[each][0])!r} is a link or a device: only regular files can be sent.")
    skills = tuple(checked_skill(root / each, each, files[each], limits) for each in selected)
    nested_skills = [f"{each} (a separate skill)" for each in sorted(skill_folders - set(selected))]
    return LocalSkills(skills, (*tree.hidden, *special[None], *nested_skills))


def pack(skill: LocalSkill, limits: Limits) -> bytes:
    """Return a reproducible tar.gz: without times or owners, so that equal files give equal bytes."""
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", filename="", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as archive,
    ):
        for path in skill.files:
            content = read_content(skill.folder / path, limits)
            entry = tarfile.TarInfo(f"{skill.name}/{path}")
            entry.size = len(content)
            entry.mode = EXECUTABLE if os.access(skill.folder / path, os.X_OK) else PLAIN
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _walk(root: Path, limits: Limits) -> _Tree:
    """List everything below a folder, except the content of hidden folders."""
    tree, folders = _Tree(), [""]
    while folders:
        folder = folders.pop()
        for entry in list_entries(root / folder):
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name.startswith("."):
                tree.hidden.append(path)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(path)
            else:
                (tree.files if entry.is_file(follow_symlinks=False) else tree.special).append(path)
        if len(tree.files) + len(tree.special) + len(folders) > limits.archive_entries:
            raise Invalid(
                f"{str(root)!r} contains more than {limits.archive_entries:,} files: pass the folder of the skill."
            )
    for paths in (tree.files, tree.special, tree.hidden):
        paths.sort()
    return tree


def list_entries(folder: Path) -> list[os.DirEntry[str]]:
    """Return the entries of a folder. Raises Invalid if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as problem:
        raise _unreadable_error(folder, problem) from None


def group_by_skill(paths: Iterable[str], skill_folders: set[str]) -> defaultdict[str | None, list[str]]:
    """Group paths by the innermost skill folder that contains them; None is the key for the rest."""
    grouped: defaultdict[str | None, list[str]] = defaultdict(list)
    for path in paths:
        skill_folder = folder_of(path)
        while skill_folder and skill_folder not in skill_folders:
            skill_folder = folder_of(skill_folder)
        grouped[skill_folder if skill_folder in skill_folders else None].append(path)
    return grouped


def checked_skill(folder: Path, skill_folder: str, paths: list[str], limits: Limits) -> LocalSkill:
    """Return the skill with these paths, which start with `skill_folder`. Raises Invalid for an exceeded limit."""
    start = len(skill_folder) + 1 if skill_folder else 0
    name, files = folder.name or "skill", tuple(path[start:] for path in paths)
    if len(files) > limits.skill_files:
        raise Invalid(f"{str(folder)!r} contains {len(files):,} files; a skill may have {limits.skill_files:,}.")
    for path in files:
        if problem := path_problem(f"{name}/{path}", limits):
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
        raise _unreadable_error(path, problem) from None


def read_content(path: Path, limits: Limits) -> bytes:
    """Return the bytes of a file, checking its size again. Raises Invalid if it cannot be read."""
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise _unreadable_error(path, problem) from None
    _check_size(path, len(content), limits)
    return content


def _unreadable_error(path: Path, problem: OSError) -> Invalid:
    return Invalid(f"{str(path)!r} cannot be read: {problem.strerror}.")
