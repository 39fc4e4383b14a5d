"""Names: the one way in which a skill's name becomes part of a URL and the name of a listing."""

import re

from assay.model.repository import RepositoryName


def slug_of(name: str) -> str:
    """The one function that makes a skill's name fit for a URL: lower case, dashes, any alphabet."""
    return re.sub(r"[\W_]+", "-", name.lower()).strip("-")


def listing_name(repository: RepositoryName, skill_name: str) -> str:
    """`owner/repo/skill`, the name of a listing."""
    return f"{repository.owner}/{repository.name}/{slug_of(skill_name)}".lower()


def slug_in(name: str) -> str:
    """The last part of the name of a listing: the skill's own."""
    return name.rpartition("/")[2]


def repository_key(repository: RepositoryName) -> str:
    """`owner/repo` in lower case, by which repositories are blocked and found."""
    return f"{repository.owner}/{repository.name}".lower()


def said_version(version: str | None) -> str | None:
    """A version as somebody said it. 0.0.0 is what programs write where there is none: it says nothing."""
    return None if version is None or version.strip().removeprefix("v") == "0.0.0" else version
