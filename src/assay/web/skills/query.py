"""Query parameters of skill lists and searches, declared once for the API, the page and their degraded answers."""

from dataclasses import dataclass, field
from typing import Annotated

from litestar.params import QueryParameter

from assay.model.category import Category
from assay.model.errors import Invalid
from assay.model.skill import SkillFilters, SkillSort, Tier, TrustTier
from assay.serve.skills.query import SkillQuery, normalised, source_of

QUERY = "Keywords, a name, `owner/repo`, or any part of a repository URL. Example: `pdf forms`."


@dataclass(frozen=True)
class SkillParameters:
    """The filters and order that all lists of skills share, and all parameters of the page `/skills`."""

    q: Annotated[str | None, QueryParameter(description=QUERY)] = None
    category: Annotated[Category | None, QueryParameter(description="Only skills of this category.")] = None
    tier: Annotated[Tier | None, QueryParameter(description="Only skills of this tier.")] = None
    labels: Annotated[
        str | None,
        QueryParameter(max_length=500, description="Only skills with all of these labels, separated by commas."),
    ] = None
    author: Annotated[
        str | None,
        QueryParameter(max_length=200, description="Only skills of this author or of this repository owner."),
    ] = None
    source: Annotated[
        str | None,
        QueryParameter(max_length=300, description="Only skills from this `owner`, `owner/repo` or repository URL."),
    ] = None
    min_trust: Annotated[
        TrustTier | None, QueryParameter(name="minTrust", description="Only skills with at least this trust level.")
    ] = None
    sort: Annotated[
        SkillSort | None,
        QueryParameter(description="The order. Defaults to `relevance` if `q` is given, and to `updated` otherwise."),
    ] = None
    cursor: Annotated[str | None, QueryParameter(max_length=400, description="`nextCursor` of the previous page.")] = (
        None
    )

    def query(
        self, web_url: str, *, limit: int, page: int | None = None, offset: int | None = None, include_removed: bool
    ) -> SkillQuery:
        """Return the query; raise Invalid with the name of the parameter that is wrong."""
        if page is not None and offset is not None:
            raise Invalid("page, offset: give only one of them.", code="bad_offset")
        if self.cursor is not None and (page is not None or offset is not None):
            raise Invalid("cursor: cannot be combined with page or offset.", code="bad_cursor")
        filters = SkillFilters(
            category=self.category,
            tier=self.tier,
            min_trust=self.min_trust,
            author=_text("author", self.author) if self.author is not None else None,
            source=source_of(self.source, web_url) if self.source is not None else None,
            labels=_labels(self.labels) if self.labels else frozenset(),
        )
        words = normalised(self.q, web_url) if self.q is not None else None
        start = offset or ((page or 1) - 1) * limit
        return SkillQuery(words, filters, self.sort, limit, self.cursor, start, include_removed)


PageNumber = Annotated[
    int | None,
    QueryParameter(ge=1, le=10_001, description="The number of a page, from 1. Only cursors reach deeper pages."),
]


@dataclass(frozen=True)
class SkillListParameters(SkillParameters):
    """The parameters of `GET /api/v1/skills`."""

    page: PageNumber = None
    limit: Annotated[int, QueryParameter(ge=1, le=100, description="Skills per page.")] = 50

    def list_query(self, web_url: str) -> SkillQuery:
        return self.query(web_url, limit=self.limit, page=self.page, include_removed=False)


@dataclass(frozen=True)
class SkillSearchParameters(SkillParameters):
    """The parameters of `GET /api/v1/skills/search`, which needs a `q`."""

    q: Annotated[str, QueryParameter(description=QUERY)] = field()
    page: PageNumber = None
    limit: Annotated[int, QueryParameter(ge=1, le=50, description="Hits per page.")] = 10
    offset: Annotated[int | None, QueryParameter(ge=0, le=1000, description="Hits to skip.")] = None

    def search_query(self, web_url: str) -> SkillQuery:
        return self.query(web_url, limit=self.limit, page=self.page, offset=self.offset, include_removed=True)


def _labels(value: str) -> frozenset[str]:
    return frozenset(_text("labels", each).lower() for each in value.split(","))


def _text(name: str, value: str) -> str:
    text = " ".join(value.replace("\x00", " ").split())
    if not text:
        raise Invalid(f"{name}: must not be empty.", code="bad_filter")
    return text
