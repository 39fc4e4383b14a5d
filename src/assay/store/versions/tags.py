"""Tags: names for versions of a listing."""

from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.change import ChangeKind
from assay.model.errors import NotFound
from assay.model.skill import (
    Skill,
    SkillVersion,
)
from assay.store.feed.changes import record_change
from assay.store.tables import (
    dist_tag,
    skill_version,
)


async def set_tag(db: AsyncConnection, listing: Skill, tag: str, version: SkillVersion) -> None:
    statement = upsert(dist_tag).values(skill_id=listing.id, tag=tag, version_id=version.id)
    moved = {"version_id": version.id, "updated_at": func.now()}
    await db.execute(statement.on_conflict_do_update(index_elements=("skill_id", "tag"), set_=moved))
    await record_change(db, ChangeKind.TAG, listing, None, tag=tag, version=version.version)


async def remove_tag(db: AsyncConnection, listing: Skill, tag: str) -> None:
    """Remove a tag. Raises NotFound."""
    statement = delete(dist_tag).where(dist_tag.c.skill_id == listing.id, dist_tag.c.tag == tag)
    if (await db.execute(statement)).rowcount == 0:
        raise NotFound(f"{listing.name} has no tag {tag}.", code="tag_not_found")
    await record_change(db, ChangeKind.TAG, listing, None, tag=tag, version=None)


async def list_tags(db: AsyncConnection, skill_id: UUID) -> dict[str, str]:
    """Return the version of each tag."""
    joined = dist_tag.join(skill_version, dist_tag.c.version_id == skill_version.c.id)
    statement = select(dist_tag.c.tag, skill_version.c.version).select_from(joined)
    rows = await db.execute(statement.where(dist_tag.c.skill_id == skill_id).order_by(dist_tag.c.tag))
    return {row.tag: row.version for row in rows}
