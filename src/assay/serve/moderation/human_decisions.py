"""What people have said of a version that is out: the review that let it out, and the suppressions of its findings."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.human_decisions import Said
from assay.model.skill import Tier
from assay.store.moderation.reviews import find_approvals
from assay.store.moderation.suppressions import suppressions_of_listing


async def read_said(db: AsyncConnection, skill_id: UUID, digest: str, tier: Tier) -> Said:
    """Of these bytes in this listing; a review is looked up only where the tier says that there is one."""
    review = (await find_approvals(db, digest)).get(skill_id) if tier.is_reviewed else None
    return Said(review, tuple(await suppressions_of_listing(db, skill_id, digest)))
