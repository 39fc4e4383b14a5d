"""Moving a listing to another repository row, with its submissions."""

from uuid import UUID

from sqlalchemy import func, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import ACTIVE, State
from assay.store.tables import skill

# Locks the submissions: one that is being reopened now is active afterwards, and the move then sees it.
LOCK_SUBMISSIONS = text("SELECT state FROM submission WHERE skill_id = :skill_id ORDER BY id FOR NO KEY UPDATE")
# A submission of the target with the same name and path keeps its row; the moved one then stays behind as history.
MOVE_SUBMISSIONS = text(
    """
    UPDATE submission SET repository_id = :repository_id, version = version + 1, updated_at = now()
    WHERE skill_id = :skill_id AND NOT EXISTS (
        SELECT FROM submission AS other WHERE other.repository_id = :repository_id
            AND other.skill_name = submission.skill_name AND other.skill_path = submission.skill_path
    )
    """
)


async def has_active_submission(db: AsyncConnection, skill_id: UUID) -> bool:
    """Lock the submissions of a listing and return whether one is being processed or waits for a reviewer."""
    states = (await db.execute(LOCK_SUBMISSIONS, {"skill_id": skill_id})).scalars()
    return any(State(state) in ACTIVE | {State.NEEDS_REVIEW} for state in states)


async def move_listing_row(db: AsyncConnection, skill_id: UUID, repository_id: int, *, author: str) -> None:
    """Attach a locked listing and its submissions to another repository."""
    values = {"repository_id": repository_id, "author": author, "updated_at": func.now()}
    await db.execute(update(skill).where(skill.c.id == skill_id).values(values))
    described = text(
        "UPDATE skill_version SET described = described || jsonb_build_object('author', CAST(:author AS text)) "
        "WHERE skill_id = :skill_id"
    )
    await db.execute(described, {"author": author, "skill_id": skill_id})
    await db.execute(MOVE_SUBMISSIONS, {"skill_id": skill_id, "repository_id": repository_id})


async def set_name_chosen(db: AsyncConnection, skill_id: UUID) -> None:
    await db.execute(update(skill).where(skill.c.id == skill_id).values(is_name_chosen=True))
