"""Write down which repository this really is, as its host says."""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.fetch.source import Resolution
from assay.model.repository import Repository
from assay.store.repositories import record_resolution


async def record_identity(db: AsyncConnection, known: Repository, resolution: Resolution) -> Repository:
    """The canonical repository; nothing is written if nothing is new."""
    facts = resolution.facts
    if (known.host_id, known.name, known.commit) == (facts.host_id, facts.name, resolution.commit):
        return known
    return await record_resolution(
        db,
        known,
        name=facts.name,
        host_id=facts.host_id,
        default_branch=facts.default_branch,
        stars=facts.stars,
        commit=resolution.commit,
        resolved_at=resolution.resolved_at,
    )
