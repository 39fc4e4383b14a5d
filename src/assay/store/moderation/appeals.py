"""Appeals, at most one for each content of a submission."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, any_, literal, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.moderation import Appeal, AppealStatus
from assay.store.tables import appeal, submission

COLUMNS = (
    appeal.c.id,
    appeal.c.submission_id,
    appeal.c.content_digest,
    appeal.c.text,
    appeal.c.appellant,
    appeal.c.created_at,
    appeal.c.status,
    appeal.c.answer,
    appeal.c.answered_by,
    appeal.c.answered_at,
)


async def add_appeal(db: AsyncConnection, new: Appeal) -> bool:
    """Add an appeal; False if this content was appealed before."""
    values = {
        "id": new.id,
        "submission_id": new.submission_id,
        "content_digest": new.content_digest,
        "text": new.text,
        "appellant": new.appellant,
        "created_at": new.created_at,
    }
    return (await db.execute(upsert(appeal).values(values).on_conflict_do_nothing())).rowcount == 1


async def answer_appeal(
    db: AsyncConnection, submission_id: UUID, digest: str, status: AppealStatus, *, answer: str, by: str, at: datetime
) -> bool:
    """Answer the open appeal about this content; False if there is none."""
    is_open = (
        appeal.c.submission_id == submission_id,
        appeal.c.content_digest == digest,
        appeal.c.status == AppealStatus.OPEN.value,
    )
    values = {"status": status.value, "answer": answer, "answered_by": by, "answered_at": at}
    return (await db.execute(update(appeal).where(*is_open).values(values))).rowcount == 1


async def find_appeals(db: AsyncConnection, submission_ids: Sequence[UUID]) -> dict[UUID, Appeal]:
    """Return the appeal about the current content of each submission that has one."""
    statement = (
        select(*COLUMNS)
        .join_from(appeal, submission, appeal.c.submission_id == submission.c.id)
        .where(
            submission.c.id == any_(literal(list(submission_ids), ARRAY(Uuid))),
            submission.c.content_digest == appeal.c.content_digest,
        )
    )
    return {row.submission_id: _appeal_of(row) for row in await db.execute(statement)}


def _appeal_of(row: Any) -> Appeal:
    return Appeal(
        id=row.id,
        submission_id=row.submission_id,
        content_digest=row.content_digest,
        text=row.text,
        appellant=row.appellant,
        created_at=row.created_at,
        status=AppealStatus(row.status),
        answer=row.answer,
        answered_by=row.answered_by,
        answered_at=row.answered_at,
    )
