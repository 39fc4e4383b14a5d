"""The history of a submission: append-only, written only by `submissions.move`."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import State, SubmissionEvent
from assay.store.tables import submission_event


async def list_events(db: AsyncConnection, submission_id: UUID) -> list[SubmissionEvent]:
    """Everything that happened to a submission, oldest first."""
    statement = (
        select(
            submission_event.c.id,
            submission_event.c.from_state,
            submission_event.c.to_state,
            submission_event.c.trigger,
            submission_event.c.actor,
            submission_event.c.metadata,
            submission_event.c.created_at,
        )
        .where(submission_event.c.submission_id == submission_id)
        .order_by(submission_event.c.id)
    )
    return [
        SubmissionEvent(
            row.id,
            State(row.from_state) if row.from_state else None,
            State(row.to_state),
            row.trigger,
            row.actor,
            row.metadata,
            row.created_at,
        )
        for row in await db.execute(statement)
    ]
