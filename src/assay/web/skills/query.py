"""What a reader asks of the catalogue, from the parameters of the API, of a page or of a client's own dialect."""

from assay.model.category import Category
from assay.model.errors import Invalid
from assay.model.skill import Tier, TrustTier
from assay.model.skill_list import Filters, Sort
from assay.serve.skills.query import SkillQuery, normalised, source_of


def skill_query(
    *,
    web_url: str,
    q: str | None = None,
    category: Category | None = None,
    tier: Tier | None = None,
    labels: str | None = None,
    author: str | None = None,
    source: str | None = None,
    min_trust: TrustTier | None = None,
    sort: Sort | None = None,
    limit: int = 50,
    cursor: str | None = None,
    page: int | None = None,
    offset: int | None = None,
    with_down: bool = False,
) -> SkillQuery:
    """The query, or Invalid with the name of the parameter that is wrong."""
    if page is not None and offset is not None:
        raise Invalid("page, offset: give one of them.", code="bad_offset")
    if cursor is not None and (page is not None or offset is not None):
        raise Invalid("cursor: give either cursor or a page or offset, not both.", code="bad_cursor")
    filters = Filters(
        category=category,
        tier=tier,
        min_trust=min_trust,
        author=_text("author", author) if author is not None else None,
        source=source_of(source, web_url) if source is not None else None,
        labels=frozenset(_text("labels", each).lower() for each in labels.split(",")) if labels else frozenset(),
    )
    words = normalised(q, web_url) if q is not None else None
    return SkillQuery(words, filters, sort, limit, cursor, offset or ((page or 1) - 1) * limit, with_down)


def _text(name: str, given: str) -> str:
    said = " ".join(given.replace("\x00", " ").split())
    if not said:
        raise Invalid(f"{name}: it is empty.", code="bad_filter")
    return said
