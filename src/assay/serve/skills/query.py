"""What is asked of the catalogue: one query for the API, the pages and every client."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec

from assay.model.errors import Invalid
from assay.model.skill_list import Filters, Sort

SHORTEST, LONGEST = 2, 200
# From the first row; by cursor one comes to the end.
DEEPEST, DEEPEST_HIT = 10_000, 1_000
MOST_LABELS = 10
# Owners have no dots, so a first part with a dot is a host even without a scheme; `git@host:` is one too.
URL = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^@/\s]+@)?[^/\s]+/|[^@/\s]+@[^:/\s]+:|(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?/)"
    r"(?P<name>[^/\s?#]+(?:/[^/\s?#]+)?)(?:[/?#]\S*)?",
    re.IGNORECASE,
)
SOURCE = re.compile(r"[\w.~-]{1,100}(?:/[\w.-]{1,100})?")
Moment = Annotated[datetime, msgspec.Meta(tz=True)]
Number = Annotated[int, msgspec.Meta(ge=-1, le=2**31 - 1)]
PLACES: Mapping[Sort, Any] = {
    Sort.RELEVANCE: tuple[Annotated[int, msgspec.Meta(ge=0, le=100)], float, UUID],
    Sort.UPDATED: tuple[Moment, UUID],
    Sort.NEWEST: tuple[Moment, UUID],
    Sort.INSTALLS: tuple[Annotated[int, msgspec.Meta(ge=0, le=2**62)], UUID],
    Sort.STARS: tuple[Number, UUID],
    Sort.TRENDING: tuple[Number, UUID],
    Sort.NAME: tuple[str, UUID],
}


@dataclass(frozen=True)
class SkillQuery:
    """What somebody wants to see. Without a sort: by relevance if there are words, else last updated first."""

    words: str | None = None
    filters: Filters = field(default_factory=Filters)
    sort: Sort | None = None
    limit: int = 50
    cursor: str | None = None
    offset: int = 0
    # Whoever asks for a name that was blocked or withdrawn is to know.
    with_down: bool = False

    @property
    def order(self) -> Sort:
        """The order that is meant."""
        return self.sort or (Sort.RELEVANCE if self.words is not None else Sort.UPDATED)

    @property
    def name(self) -> str:
        """The same for every page of one list, and for no other list."""
        filters = replace(self.filters, labels=frozenset())
        meant = msgspec.json.encode([self.words, filters, sorted(self.filters.labels), self.order, self.with_down])
        return hashlib.sha256(meant).hexdigest()[:12]


def checked(query: SkillQuery) -> SkillQuery:
    """The query, or Invalid with the name of the parameter that is wrong."""
    if query.words is not None and not SHORTEST <= len(query.words) <= LONGEST:
        raise Invalid(f"q must have {SHORTEST} to {LONGEST} characters.", code="bad_query")
    if query.words is None and query.sort is Sort.RELEVANCE:
        raise Invalid("sort: relevance needs words to be relevant to; give q.", code="bad_sort")
    if query.cursor is not None and query.offset:
        raise Invalid("cursor: give either cursor or a page or offset, not both.", code="bad_cursor")
    deepest = DEEPEST if query.words is None else DEEPEST_HIT
    if not 0 <= query.offset <= deepest:
        message = f"offset, page: at most {deepest:,} rows deep; go on with the `nextCursor`, or ask for less."
        raise Invalid(message, code="bad_offset")
    if len(query.filters.labels) > MOST_LABELS:
        raise Invalid(f"labels: at most {MOST_LABELS}.", code="bad_filter")
    return query


def normalised(query: str, web_url: str) -> str:
    """A repository URL in any of its forms becomes `owner/repo`; everything else stays as it is."""
    query = " ".join(query.replace("\x00", " ").split())
    if query.lower().startswith(f"{web_url}/".lower()):  # a GitHub Enterprise may live below a path
        query = f"https://github.com/{query[len(web_url) + 1 :]}"
    url = URL.fullmatch(query)
    return url["name"].removesuffix(".git") if url else query.removesuffix("/")


def source_of(given: str, web_url: str) -> str:
    """`owner` or `owner/repo`, of that or of a repository URL, in lower case; or Invalid."""
    source = normalised(given, web_url)
    if not SOURCE.fullmatch(source):
        raise Invalid("source: give `owner`, `owner/repo`, or the URL of a repository.", code="bad_filter")
    return source.lower()
