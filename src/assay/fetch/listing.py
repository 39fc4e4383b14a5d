"""The paths of all files of a commit, on any host and for repositories of any size."""

from assay.git.client import Git
from assay.github.client import GitHub
from assay.github.trees import TRUNCATED, PathFilter, every_path, walk_tree
from assay.model.errors import Unavailable
from assay.model.repository import Host, RepositoryName, TreeEntry


async def list_files(
    github: GitHub, git: Git, name: RepositoryName, commit: str, folder: str = "", wanted: PathFilter = every_path
) -> list[TreeEntry]:
    """Return the wanted files, at least those below `folder`; raise Invalid if the list cannot be completed."""
    if name.host is Host.GIT:
        return [entry for entry in await git.list_files(name, commit) if wanted(entry.path)]
    try:
        return [entry for entry in await github.get_tree(name, commit) if wanted(entry.path)]
    except Unavailable as error:
        if error.code != TRUNCATED:
            raise
        return await walk_tree(github, name, commit, folder, wanted)
