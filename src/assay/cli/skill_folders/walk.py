"""The one walk over a local folder: `assay scan` and `assay submit` see the same files."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from assay.fetch.limits import Limits
from assay.model.errors import Invalid

SKILL = "SKILL.md"
# Git's own data, in any case, or the file that points to it. Any other hidden file is part of a skill.
GIT = ".git"
# Folders of installed packages are skipped beside skills; inside a skill they are part of it.
PACKAGE_FOLDERS = frozenset({"node_modules", ".venv", "venv"})


@dataclass
class FolderTree:
    """Paths below a folder; links and unreadable folders with the reason."""

    files: list[str] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    unreadable_folders: dict[str, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)


def walk(root: Path, limits: Limits) -> FolderTree:
    """List everything below a folder, including hidden files. Raises Invalid if there are too many."""
    tree, folders = FolderTree(), [("", False)]
    while folders:
        folder, in_skill = folders.pop()
        try:
            entries = _entries(root / folder)
        except OSError as problem:
            tree.unreadable_folders[folder] = unreadable(root / folder, problem).message
            continue
        in_skill = in_skill or any(entry.name == SKILL for entry in entries)
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if not entry.is_dir(follow_symlinks=False):
                _add(tree, root, path, is_file=entry.is_file(follow_symlinks=False))
            elif entry.name in PACKAGE_FOLDERS and not in_skill:
                tree.skipped.append(path)
            else:
                folders.append((path, in_skill))
        if len(tree.files) + len(tree.links) + len(folders) > limits.archive_entries:
            raise Invalid(
                f"{str(root)!r} contains more than {limits.archive_entries:,} files: pass the folder of the skill."
            )
    return tree


def unreadable(path: Path, problem: OSError) -> Invalid:
    return Invalid(f"{str(path)!r} cannot be read: {problem.strerror}.")


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return [entry for entry in entries if entry.name.lower() != GIT]


def _add(tree: FolderTree, root: Path, path: str, *, is_file: bool) -> None:
    if is_file:
        tree.files.append(path)
    else:
        tree.links[path] = f"{str(root / path)!r} is a link or a device: only regular files are accepted."
