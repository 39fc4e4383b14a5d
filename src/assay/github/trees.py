"""Trees of commits: what GitHub lists in one answer, or folder by folder where one answer does not hold it."""

from typing import Protocol

import msgspec

from assay.model.errors import Invalid, NotFound, Unavailable
from assay.model.repository import RepositoryName, TreeEntry

TRUNCATED = "tree_truncated"
REGULAR_MODES = frozenset({"100644", "100755", "100664"})
# A skill has fewer folders than this, whatever repository it is in.
MOST_FOLDERS = 200


class TreeItem(msgspec.Struct):
    """A file, a folder, or a link to another repository."""

    path: str
    mode: str
    type: str
    sha: str = ""
    size: int = 0


class Tree(msgspec.Struct):
    """One answer."""

    tree: list[TreeItem]
    truncated: bool


class Listing(Protocol):
    """What can list trees."""

    async def list_tree(self, name: RepositoryName, tree: str, *, recursive: bool) -> Tree:
        """The tree of a commit, or one of its folders by its own id."""


def files_of(tree: Tree, folder: str = "") -> list[TreeEntry]:
    """The files of an answer, with their paths from the root."""
    prefix = f"{folder}/" if folder else ""
    files = (each for each in tree.tree if each.type == "blob")
    return [TreeEntry(f"{prefix}{each.path}", each.size, each.mode in REGULAR_MODES) for each in files]


async def walk_tree(github: Listing, name: RepositoryName, commit: str, folder: str) -> list[TreeEntry]:
    """The files of one folder and all below it, in a commit that is too large to be listed at once."""
    tree_id = commit
    for part in folder.split("/") if folder else ():
        items = (await _whole(github, name, tree_id)).tree
        found = next((each.sha for each in items if each.type == "tree" and each.path == part), None)
        if found is None:
            raise NotFound(f"There is no folder {folder} in the repository.", code="skill_not_in_source")
        tree_id = found
    if folder:
        below = await github.list_tree(name, tree_id, recursive=True)
        if not below.truncated:
            return files_of(below, folder)
    return await _folder_by_folder(github, name, tree_id, folder)


async def _folder_by_folder(github: Listing, name: RepositoryName, tree_id: str, folder: str) -> list[TreeEntry]:
    files: list[TreeEntry] = []
    waiting = [(folder, tree_id)]
    for _ in range(MOST_FOLDERS):
        if not waiting:
            return files
        path, tree_id = waiting.pop()
        listed = await _whole(github, name, tree_id)
        files += files_of(listed, path)
        waiting += [
            (f"{path}/{each.path}" if path else each.path, each.sha) for each in listed.tree if each.type == "tree"
        ]
    raise Invalid(f"The skill has more than {MOST_FOLDERS} folders.", code="skill_too_large")


async def _whole(github: Listing, name: RepositoryName, tree_id: str) -> Tree:
    listed = await github.list_tree(name, tree_id, recursive=False)
    if listed.truncated:
        raise Unavailable(f"GitHub does not list a folder of {name}: it has too many files.", code=TRUNCATED)
    return listed
