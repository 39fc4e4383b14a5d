"""The JSON of lists and searches of the catalogue."""

from assay.model.category import Category
from assay.model.finding import Severity
from assay.web.http.json import SkillView, View


class AlternateView(View, frozen=True):
    """Another repository with the same content."""

    owner_slug: str
    repo_slug: str
    repo_url: str | None


class SkillHitView(SkillView, frozen=True):
    """A listing of a list.

    `isBlocked`: it was asked for by its name, and must not be used; `threatType` and `severity` say why. What is not
    live is never listed otherwise, so nothing in a list is tainted.
    """

    category: Category
    labels: list[str]
    vskill_installs: int
    trending_7d: int
    trending_30d: int
    alternate_repos: list[AlternateView]
    is_tainted: bool
    is_blocked: bool
    threat_type: str | None
    severity: Severity | None


class FacetsView(View, frozen=True):
    """How many listings there are of each kind; null where that is not known for these filters."""

    category: dict[str, int] | None
    tier: dict[str, int] | None
    is_exact: bool


class PaginationView(View, frozen=True):
    """Pages for those who count them; the cursor goes further."""

    page: int
    limit: int
    total: int
    total_pages: int


class SkillListView(View, frozen=True):
    """A page of listings. `total` counts listings, and is a lower bound if it is not exact."""

    skills: list[SkillHitView]
    total: int
    total_is_exact: bool
    next_cursor: str | None
    pagination: PaginationView
    facets: FacetsView


class SearchPaginationView(View, frozen=True):
    """Where this page is, and whether there is another."""

    limit: int
    offset: int
    has_more: bool


class SearchHitsView(View, frozen=True):
    """Hits, best first. `approximate`: nothing has these words, and the names of these are like them."""

    results: list[SkillHitView]
    pagination: SearchPaginationView
    total: int
    total_is_exact: bool
    next_cursor: str | None
    approximate: bool
    facets: FacetsView


class CategoryView(View, frozen=True):
    """A category and how many live listings it has."""

    category: Category
    skills: int


class CategoriesView(View, frozen=True):
    """All categories, also empty ones; the numbers add up to the total."""

    categories: list[CategoryView]
    total: int
