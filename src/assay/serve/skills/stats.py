"""The numbers of the catalogue, with those of the queue beside them: one definition each, one moment for all."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.category import Category
from assay.model.skill import Tier
from assay.serve.submissions.stats import Stats, read_stats
from assay.store.skills.counts import Sizes, read_sizes
from assay.store.submissions.counts import count_by_facet


@dataclass(frozen=True)
class CatalogueStats:
    """Live listings by category and tier, what they amount to, and the submissions."""

    by_category: Mapping[Category, int]
    by_tier: Mapping[Tier, int]
    sizes: Sizes
    queue: Stats


async def read_catalogue_stats(db: AsyncConnection, now: datetime) -> CatalogueStats:
    """All numbers from one snapshot. Every category and tier is there, also those without any."""
    categories, tiers = await count_by_facet(db, "category"), await count_by_facet(db, "tier")
    return CatalogueStats(
        {category: categories.get(category.value, 0) for category in Category},
        {tier: tiers.get(tier.value, 0) for tier in Tier},
        await read_sizes(db),
        await read_stats(db, now),
    )
