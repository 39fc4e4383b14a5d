"""The human decisions that apply to a published version: its approving review and the suppressions of its findings."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.moderation import HumanDecisions
from assay.model.skill import Tier
from assay.store.moderation.reviews import find_approvals
from assay.store.moderation.suppressions import suppressions_of_listing


async def read_human_decisions(db: AsyncConnection, skill_id: UUID, digest: str, tier: Tier) -> HumanDecisions:
    """Return the decisions on this content in this listing; looks up a review only if the tier implies one."""
    review = (await find_approvals(db, digest)).get(skill_id) if tier.is_reviewed else None
    return HumanDecisions(review, tuple(await suppressions_of_listing(db, skill_id, digest)))
