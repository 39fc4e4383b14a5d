"""File lists of commits: in one response, or folder by folder if GitHub truncates it."""

import asyncio
from collections.abc import Callable
from typing import Protocol

import msgspec

from assay.concurrency import settle
from assay.model.errors import Invalid, NotFound
from assay.model.repository import RepositoryName, TreeEntry

TRUNCATED = "tree_truncated"
REGULAR_MODES = frozenset({"100644", "100755", "100664"})
# Limits for a commit that no single response can list.
MAX_RESPONSES, CONCURRENCY = 500, 8
MAX_FILES = 200_000

Part = tuple[str, str]
PathFilter = Callable[[str], bool]


class TreeItem(msgspec.Struct):
    """A file, a folder, or a submodule."""

    path: str
    mode: str
    type: str
    sha: str = ""
    size: int = 0

    @property
    def is_folder(self) -> bool:
        return self.type == "tree"


class Tree(msgspec.Struct):
    """One response of the trees endpoint."""

    tree: list[TreeItem]
    truncated: bool


class TreeLister(Protocol):
    """The part of the GitHub client that lists trees."""

    async def list_tree(self, name: RepositoryName, tree: str, *, recursive: bool) -> Tree:
        """Return the tree of a commit, or of one of its folders by tree id."""


def every_path(_path: str) -> bool:
    return True


def files_of(tree: Tree, folder: str = "", wanted: PathFilter = every_path) -> list[TreeEntry]:
    """Return the files of a tree, with their paths from the root of the repository."""
    prefix = f"{folder}/" if folder else ""
    files = ((f"{prefix}{each.path}", each) for each in tree.tree if each.type == "blob")
    return [TreeEntry(path, each.size, each.mode in REGULAR_MODES) for path, each in files if wanted(path)]


async def walk_tree(
    github: TreeLister, name: RepositoryName, commit: str, folder: str, wanted: PathFilter = every_path
) -> list[TreeEntry]:
    """Return the files below a folder of a commit that is too large to be listed in one response."""
    tree_id = commit
    for part in folder.split("/") if folder else ():
        items = (await _list_complete(github, name, tree_id)).tree
        found = next((each.sha for each in items if each.is_folder and each.path == part), None)
        if found is None:
            raise NotFound(f"The repository has no folder {folder}.", code="skill_not_in_source")
        tree_id = found
    if folder:
        below = await github.list_tree(name, tree_id, recursive=True)
        if not below.truncated:
            return files_of(below, folder, wanted)
    return await _walk_folders(github, name, tree_id, folder, wanted)


async def _walk_folders(
    github: TreeLister, name: RepositoryName, tree_id: str, folder: str, wanted: PathFilter
) -> list[TreeEntry]:
    """List each folder recursively; where that response is truncated, descend into its subfolders."""
    files: list[TreeEntry] = []
    too_large, responses = [(folder, tree_id)], 0
    while too_large:
        parts = []
        for path, each in too_large:
            listed = await _list_complete(github, name, each)
            files += files_of(listed, path, wanted)
            parts += [
                (f"{path}/{item.path}" if path else item.path, item.sha) for item in listed.tree if item.is_folder
            ]
        responses += len(too_large) + len(parts)
        if responses > MAX_RESPONSES:
            raise _too_large(name, f"it has more folders than {MAX_RESPONSES} responses of GitHub can list")
        too_large = await _read_parts(github, name, parts, files, wanted)
        if len(files) > MAX_FILES:
            raise _too_large(name, f"it has more than {MAX_FILES:,} files")
    return files


async def _read_parts(
    github: TreeLister, name: RepositoryName, parts: list[Part], files: list[TreeEntry], wanted: PathFilter
) -> list[Part]:
    """Append the files of all parts to `files`; return the parts whose response was truncated."""
    gate, left = asyncio.Semaphore(CONCURRENCY), []

    async def read(path: str, tree_id: str) -> None:
        async with gate:
            listed = await github.list_tree(name, tree_id, recursive=True)
            if listed.truncated:
                left.append((path, tree_id))
            else:
                files.extend(files_of(listed, path, wanted))

    await settle(read(*part) for part in parts)
    return left


async def _list_complete(github: TreeLister, name: RepositoryName, tree_id: str) -> Tree:
    listed = await github.list_tree(name, tree_id, recursive=False)
    if listed.truncated:
        raise _too_large(name, "a folder has more files than GitHub lists")
    return listed


def _too_large(name: RepositoryName, reason: str) -> Invalid:
    return Invalid(
        f"The files of {name} cannot be listed completely: {reason}. Submit its skills by their paths.", code=TRUNCATED
    )
