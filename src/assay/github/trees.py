"""Trees of commits: what GitHub lists in one answer, or part by part where one answer does not hold it."""

import asyncio
from collections.abc import Callable
from typing import Protocol

import msgspec

from assay.model.errors import Invalid, NotFound
from assay.model.repository import RepositoryName, TreeEntry
from assay.model.settle import settle

TRUNCATED = "tree_truncated"
REGULAR_MODES = frozenset({"100644", "100755", "100664"})
# What a commit that no single answer holds may cost, and how many files of it are remembered.
MOST_ANSWERS, AT_ONCE = 500, 8
MOST_FILES = 200_000

Part = tuple[str, str]
Wanted = Callable[[str], bool]


class TreeItem(msgspec.Struct):
    """A file, a folder, or a link to another repository."""

    path: str
    mode: str
    type: str
    sha: str = ""
    size: int = 0

    @property
    def is_folder(self) -> bool:
        """Whether it has a tree of its own."""
        return self.type == "tree"


class Tree(msgspec.Struct):
    """One answer."""

    tree: list[TreeItem]
    truncated: bool


class Listing(Protocol):
    """What can list trees."""

    async def list_tree(self, name: RepositoryName, tree: str, *, recursive: bool) -> Tree:
        """The tree of a commit, or one of its folders by its own id."""


def everything(_path: str) -> bool:
    """Who wants all files wants each."""
    return True


def files_of(tree: Tree, folder: str = "", wanted: Wanted = everything) -> list[TreeEntry]:
    """The files of an answer, with their paths from the root."""
    prefix = f"{folder}/" if folder else ""
    files = ((f"{prefix}{each.path}", each) for each in tree.tree if each.type == "blob")
    return [TreeEntry(path, each.size, each.mode in REGULAR_MODES) for path, each in files if wanted(path)]


async def walk_tree(
    github: Listing, name: RepositoryName, commit: str, folder: str, wanted: Wanted = everything
) -> list[TreeEntry]:
    """The files of one folder and all below it, in a commit that is too large to be listed at once."""
    tree_id = commit
    for part in folder.split("/") if folder else ():
        items = (await _whole(github, name, tree_id)).tree
        found = next((each.sha for each in items if each.is_folder and each.path == part), None)
        if found is None:
            raise NotFound(f"There is no folder {folder} in the repository.", code="skill_not_in_source")
        tree_id = found
    if folder:
        below = await github.list_tree(name, tree_id, recursive=True)
        if not below.truncated:
            return files_of(below, folder, wanted)
    return await _part_by_part(github, name, tree_id, folder, wanted)


async def _part_by_part(
    github: Listing, name: RepositoryName, tree_id: str, folder: str, wanted: Wanted
) -> list[TreeEntry]:
    """Each folder with all below it, where one answer holds that; where it does not, each folder of that one."""
    files: list[TreeEntry] = []
    too_large, asked = [(folder, tree_id)], 0
    while too_large:
        parts = []
        for path, each in too_large:
            listed = await _whole(github, name, each)
            files += files_of(listed, path, wanted)
            parts += [
                (f"{path}/{item.path}" if path else item.path, item.sha) for item in listed.tree if item.is_folder
            ]
        asked += len(too_large) + len(parts)
        if asked > MOST_ANSWERS:
            raise _too_large(name, f"more folders than {MOST_ANSWERS} answers of GitHub hold")
        too_large = await _read_parts(github, name, parts, files, wanted)
        if len(files) > MOST_FILES:
            raise _too_large(name, f"more than {MOST_FILES:,} files")
    return files


async def _read_parts(
    github: Listing, name: RepositoryName, parts: list[Part], files: list[TreeEntry], wanted: Wanted
) -> list[Part]:
    """Add the files of all parts; returns those that one answer does not hold."""
    gate, left = asyncio.Semaphore(AT_ONCE), []

    async def read(path: str, tree_id: str) -> None:
        async with gate:
            listed = await github.list_tree(name, tree_id, recursive=True)
            if listed.truncated:
                left.append((path, tree_id))
            else:
                files.extend(files_of(listed, path, wanted))

    await settle(read(*part) for part in parts)
    return left


async def _whole(github: Listing, name: RepositoryName, tree_id: str) -> Tree:
    listed = await github.list_tree(name, tree_id, recursive=False)
    if listed.truncated:
        raise _too_large(name, "a folder with more files than GitHub lists")
    return listed


def _too_large(name: RepositoryName, why: str) -> Invalid:
    return Invalid(f"{name} cannot be listed whole: it has {why}. Name its skills by their paths.", code=TRUNCATED)
