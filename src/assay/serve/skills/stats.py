"""Counts of the catalogue and the queue at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.category import Category
from assay.model.skill import Tier
from assay.serve.submissions.stats import Stats, read_stats
from assay.store.skills.counts import CatalogueSize, count_by_facet, read_catalogue_size


@dataclass(frozen=True)
class CatalogueStats:
    by_category: Mapping[Category, int]
    by_tier: Mapping[Tier, int]
    sizes: CatalogueSize
    queue: Stats


async def read_catalogue_stats(db: AsyncConnection, now: datetime) -> CatalogueStats:
    """Read all counts from one snapshot; includes empty categories and tiers."""
    categories, tiers = await count_by_facet(db, "category"), await count_by_facet(db, "tier")
    return CatalogueStats(
        {category: categories.get(category.value, 0) for category in Category},
        {tier: tiers.get(tier.value, 0) for tier in Tier},
        await read_catalogue_size(db),
        await read_stats(db, now),
    )
