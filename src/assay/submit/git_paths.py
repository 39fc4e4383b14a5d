"""Paths of other git hosts: which part is the repository, and which says what a page of it shows."""

import re
from collections.abc import Sequence

from assay.model.errors import Invalid

# The servers that have groups within groups put this between a repository and its pages.
DIVIDER = "-"
# What the others have behind `owner/repository`.
PAGES = frozenset({"src", "tree", "blob", "raw", "branches", "commits", "issues", "pulls", "releases", "wiki"})
# What begins with a dash would be an option to git.
SEGMENT = re.compile(r"[A-Za-z0-9_.][\w.-]{0,99}", re.ASCII)
MOST_GROUPS = 10


def split_path(segments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The repository and the rest of a path; Invalid if it cannot be one."""
    if DIVIDER in segments:
        at = segments.index(DIVIDER)
        path, shown = list(segments[:at]), list(segments[at + 1 :])
    elif len(segments) > 2 and segments[2] in PAGES:
        path, shown = list(segments[:2]), list(segments[2:])
    else:
        path, shown = list(segments), []
    if path:
        path[-1] = path[-1].removesuffix(".git")
    if not 2 <= len(path) <= MOST_GROUPS or not all(_is_segment(segment) for segment in path):
        raise Invalid(
            "repoUrl must look like https://host/owner/repository, in plain letters and digits.", code="bad_repo_url"
        )
    return path, shown


def _is_segment(text: str) -> bool:
    return SEGMENT.fullmatch(text) is not None and text not in (".", "..")
