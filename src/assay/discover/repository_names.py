"""Parsing of repository names in the various forms of manifests, packages, indexes and lists."""

import re

from assay.model.discovery import Candidate
from assay.model.errors import Invalid
from assay.model.repository import RepositoryName
from assay.submit.validate import parse_repository_url

PLAIN = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
LONGEST = 500


def parse_repository(text: object, web_url: str, git_hosts: tuple[str, ...] = ()) -> RepositoryName | None:
    """Parse `owner/name`, a URL or npm's shorthand; return None if it names no repository on an accepted host."""
    if not isinstance(text, str) or len(text) > LONGEST:
        return None
    name = text.strip()
    for prefix in ("git+", "github:"):
        name = name.removeprefix(prefix)
    name = re.sub(r"^(git|ssh)://(git@)?", "https://", name)
    name = re.sub(r"^git@([^:/]+):", r"https://\1/", name)
    # Drop the query and the fragment.
    name = name.partition("#")[0].partition("?")[0]
    if PLAIN.fullmatch(name):
        name = f"{web_url}/{name}"
    name = re.sub(r"^http://", "https://", name) if web_url.startswith("https://") else name
    try:
        return parse_repository_url(name, web_url, git_hosts)[0]
    except Invalid:
        return None


def parse_candidates(texts: list[object], web_url: str, git_hosts: tuple[str, ...] = ()) -> tuple[list[Candidate], int]:
    """Return one candidate per distinct repository, and the number of names that could not be parsed."""
    parsed = [parse_repository(text, web_url, git_hosts) for text in texts]
    found = {each.key: Candidate(each) for each in parsed if each is not None}
    return list(found.values()), sum(each is None for each in parsed)
