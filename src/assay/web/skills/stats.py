"""`GET /api/v1/stats`: the numbers of the catalogue."""

from datetime import datetime

import msgspec
from litestar import get

from assay.model.submission import Category
from assay.serve.skills.stats import read_catalogue_stats
from assay.web.http.access import PUBLIC
from assay.web.http.dependencies import Assay
from assay.web.http.json import View
from assay.web.http.problems import problems


class CatalogueStatsView(View, frozen=True):
    """All of the same moment. `skills` are live listings, and what follows is of those; `versions` may be used.

    `installs` are counted once a day for a client and a skill. `submissions` has how many there are of each group of
    states, and `total`.
    """

    skills: int
    versions: int
    repositories: int
    authors: int
    installs: int
    installs_7d: int = msgspec.field(name="installs7d")
    installs_30d: int = msgspec.field(name="installs30d")
    by_category: dict[str, int]
    by_tier: dict[str, int]
    submissions: dict[str, int]
    generated_at: datetime


@get("/api/v1/stats", summary="Count the catalogue", tags=["skills"], opt=PUBLIC, responses=problems(400, 503))
async def catalogue_stats(assay: Assay) -> CatalogueStatsView:
    """Every number has one definition, and is the same wherever it is shown."""
    async with assay.store.snapshot() as db:
        found = await read_catalogue_stats(db, assay.clock.now())
    queue, sizes = found.queue, found.sizes
    groups = {category.value: queue.by_category[category] for category in Category}
    return CatalogueStatsView(
        skills=queue.skills,
        versions=sizes.versions,
        repositories=sizes.repositories,
        authors=sizes.authors,
        installs=sizes.installs,
        installs_7d=sizes.installs_7d,
        installs_30d=sizes.installs_30d,
        by_category={category.value: number for category, number in found.by_category.items()},
        by_tier={tier.value: number for tier, number in found.by_tier.items()},
        submissions={"total": queue.total, **groups},
        generated_at=queue.as_of,
    )
