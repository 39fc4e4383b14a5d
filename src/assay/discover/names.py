"""The repositories that others name: in manifests, packages, indexes and lists, each in its own way."""

import re

from assay.model.discovery import Candidate
from assay.model.errors import Invalid
from assay.model.repository import RepositoryName
from assay.submit.validate import parse_repository_url

PLAIN = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
LONGEST = 500


def repository_named(text: object, web_url: str, git_hosts: tuple[str, ...] = ()) -> RepositoryName | None:
    """The repository on an accepted host that `owner/name`, a URL or npm's writing means; None if none is."""
    if not isinstance(text, str) or len(text) > LONGEST:
        return None
    given = text.strip()
    for prefix in ("git+", "github:"):
        given = given.removeprefix(prefix)
    given = re.sub(r"^(git|ssh)://(git@)?", "https://", given)
    given = re.sub(r"^git@([^:/]+):", r"https://\1/", given)
    # What a URL says of a branch or a place of a page says nothing about the repository.
    given = given.partition("#")[0].partition("?")[0]
    if PLAIN.fullmatch(given):
        given = f"{web_url}/{given}"
    given = re.sub(r"^http://", "https://", given) if web_url.startswith("https://") else given
    try:
        return parse_repository_url(given, web_url, git_hosts)[0]
    except Invalid:
        return None


def candidates_named(texts: list[object], web_url: str, git_hosts: tuple[str, ...] = ()) -> tuple[list[Candidate], int]:
    """A candidate for each repository that is named, once; and how many names nobody can follow."""
    named = [repository_named(text, web_url, git_hosts) for text in texts]
    found = {each.key: Candidate(each) for each in named if each is not None}
    return list(found.values()), sum(each is None for each in named)
