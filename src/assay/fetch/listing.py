"""The names of the files of a commit, on whatever host it is and however many there are."""

from assay.git.client import Git
from assay.github.client import GitHub
from assay.github.trees import TRUNCATED, Wanted, everything, walk_tree
from assay.model.errors import Unavailable
from assay.model.repository import Host, RepositoryName, TreeEntry


async def list_files(
    github: GitHub, git: Git, name: RepositoryName, commit: str, folder: str = "", wanted: Wanted = everything
) -> list[TreeEntry]:
    """All that are wanted, at least those below the folder; Invalid if there are too many to be sure of that."""
    if name.host is Host.GIT:
        return [entry for entry in await git.list_files(name, commit) if wanted(entry.path)]
    try:
        return [entry for entry in await github.get_tree(name, commit) if wanted(entry.path)]
    except Unavailable as problem:
        if problem.code != TRUNCATED:
            raise
        return await walk_tree(github, name, commit, folder, wanted)
