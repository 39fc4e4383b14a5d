"""Queries of the catalogue: validation, cursors, and repository URLs as search terms."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec

from assay.model.errors import Invalid
from assay.model.skill import SkillFilters, SkillSort

MIN_QUERY_LENGTH, MAX_QUERY_LENGTH = 2, 200
# Maximum offsets; cursors have no limit.
MAX_OFFSET, MAX_SEARCH_OFFSET = 10_000, 1_000
MAX_LABELS = 10
# GitHub owners have no dots, so a first segment with a dot is a host even without a scheme; so is `git@host:`.
URL = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^@/\s]+@)?[^/\s]+/|[^@/\s]+@[^:/\s]+:|(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?/)"
    r"(?P<name>[^/\s?#]+(?:/[^/\s?#]+)?)(?:[/?#]\S*)?",
    re.IGNORECASE,
)
SOURCE = re.compile(r"[\w.~-]{1,100}(?:/[\w.-]{1,100})?")
Moment = Annotated[datetime, msgspec.Meta(tz=True)]
Number = Annotated[int, msgspec.Meta(ge=-1, le=2**31 - 1)]
CURSOR_TYPES: Mapping[SkillSort, Any] = {
    SkillSort.RELEVANCE: tuple[Annotated[int, msgspec.Meta(ge=0, le=100)], float, UUID],
    SkillSort.UPDATED: tuple[Moment, UUID],
    SkillSort.NEWEST: tuple[Moment, UUID],
    SkillSort.INSTALLS: tuple[Annotated[int, msgspec.Meta(ge=0, le=2**62)], UUID],
    SkillSort.STARS: tuple[Number, UUID],
    SkillSort.TRENDING: tuple[Number, UUID],
    SkillSort.NAME: tuple[str, UUID],
}


@dataclass(frozen=True)
class SkillQuery:
    """A page of a search or list. The default order is relevance for a search and last updated for a list."""

    words: str | None = None
    filters: SkillFilters = field(default_factory=SkillFilters)
    sort: SkillSort | None = None
    limit: int = 50
    cursor: str | None = None
    offset: int = 0
    # Include blocked and withdrawn listings if searched by name, so that the caller is warned.
    include_removed: bool = False

    @property
    def order(self) -> SkillSort:
        """The requested or default order."""
        return self.sort or (SkillSort.RELEVANCE if self.words is not None else SkillSort.UPDATED)

    @property
    def fingerprint(self) -> str:
        """Identifies a list by its terms, filters and order; the same for all of its pages."""
        filters = replace(self.filters, labels=frozenset())
        meant = msgspec.json.encode(
            [self.words, filters, sorted(self.filters.labels), self.order, self.include_removed]
        )
        return hashlib.sha256(meant).hexdigest()[:12]


def validated(query: SkillQuery) -> SkillQuery:
    """Return the query; raises Invalid naming the wrong parameter."""
    if query.words is not None and not MIN_QUERY_LENGTH <= len(query.words) <= MAX_QUERY_LENGTH:
        raise Invalid(f"q: must have {MIN_QUERY_LENGTH} to {MAX_QUERY_LENGTH} characters.", code="bad_query")
    if query.words is None and query.sort is SkillSort.RELEVANCE:
        raise Invalid("sort: relevance requires a search term in q.", code="bad_sort")
    if query.cursor is not None and query.offset:
        raise Invalid("cursor: cannot be combined with page or offset.", code="bad_cursor")
    deepest = MAX_OFFSET if query.words is None else MAX_SEARCH_OFFSET
    if not 0 <= query.offset <= deepest:
        message = f"offset, page: at most {deepest:,} rows can be skipped. Use the `nextCursor`, or narrow the query."
        raise Invalid(message, code="bad_offset")
    if len(query.filters.labels) > MAX_LABELS:
        raise Invalid(f"labels: at most {MAX_LABELS} are allowed.", code="bad_filter")
    return query


def normalised(query: str, web_url: str) -> str:
    """Collapse whitespace, and reduce a repository URL of any form to `owner/repo`."""
    query = " ".join(query.replace("\x00", " ").split())
    if query.lower().startswith(f"{web_url}/".lower()):  # GitHub Enterprise may be served under a path
        query = f"https://github.com/{query[len(web_url) + 1 :]}"
    url = URL.fullmatch(query)
    return url["name"].removesuffix(".git") if url else query.removesuffix("/")


def source_of(text: str, web_url: str) -> str:
    """Return `owner` or `owner/repo` in lower case, also from a repository URL; raises Invalid for anything else."""
    source = normalised(text, web_url)
    if not SOURCE.fullmatch(source):
        raise Invalid("source: must be `owner`, `owner/repo` or the URL of a repository.", code="bad_filter")
    return source.lower()
