"""Submissions, as they are read. What changes them is in transitions.py."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Select, Uuid, any_, literal, select
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import NotFound
from assay.model.submission import Origin, Reason, State, Submission
from assay.store.repositories.repositories import COLUMNS as REPOSITORY_COLUMNS
from assay.store.repositories.repositories import repository_of
from assay.store.tables import repository, submission

COLUMNS = (
    submission.c.id,
    submission.c.skill_name,
    submission.c.skill_path,
    submission.c.state,
    submission.c.version,
    submission.c.cycle,
    submission.c.priority,
    submission.c.attempts,
    submission.c.claims,
    submission.c.origin,
    submission.c.submitter,
    submission.c.upload_digest,
    submission.c.content_digest,
    submission.c.skill_id,
    submission.c.score,
    submission.c.reason_code,
    submission.c.reason_message,
    submission.c.next_step,
    submission.c.lease_owner,
    submission.c.created_at,
    submission.c.updated_at,
    submission.c.received_at,
    submission.c.scanning_at,
    submission.c.decided_at,
)


async def get_submission(db: AsyncConnection, submission_id: UUID) -> Submission:
    """One submission, or NotFound."""
    row = (await db.execute(read_submissions().where(submission.c.id == submission_id))).one_or_none()
    if row is None:
        raise NotFound(f"There is no submission {submission_id}.", code="submission_not_found")
    return submission_of(row)


async def find_submissions(db: AsyncConnection, ids: Sequence[UUID]) -> dict[UUID, Submission]:
    """Those that exist, by id."""
    rows = await db.execute(read_submissions().where(submission.c.id == any_(literal(list(ids), ARRAY(Uuid)))))
    return {each.id: each for each in map(submission_of, rows)}


async def find_rounds(db: AsyncConnection, ids: Sequence[UUID], states: Iterable[State]) -> dict[UUID, int]:
    """The cycles of those that are in one of these states."""
    statement = select(submission.c.id, submission.c.cycle).where(
        submission.c.id == any_(literal(list(ids), ARRAY(Uuid))),
        submission.c.state.in_([state.value for state in sorted(states)]),
    )
    return {row.id: row.cycle for row in await db.execute(statement)}


def read_submissions() -> Select[Any]:
    """The statement that rows of submissions are read by, to be narrowed and ordered."""
    """Submissions with their repositories."""
    joined = submission.join(repository, submission.c.repository_id == repository.c.id)
    return select(*COLUMNS, *REPOSITORY_COLUMNS).select_from(joined)


def submission_of(row: Sequence[Any]) -> Submission:
    """A row of COLUMNS and the repository's as a value."""
    (
        number, skill_name, skill_path, state, version, cycle, priority, attempts, claims, origin, submitter,
        upload_digest, content_digest, skill_id, score, code, message, next_step, lease, created_at,
        updated_at, received_at, scanning_at, decided_at, *repository_row,
    ) = row  # fmt: skip
    return Submission(
        id=number,
        repository=repository_of(repository_row),
        skill_name=skill_name,
        skill_path=skill_path,
        state=State(state),
        version=version,
        cycle=cycle,
        priority=priority,
        attempts=attempts,
        claims=claims,
        origin=Origin(origin),
        submitter=submitter,
        upload_digest=upload_digest,
        content_digest=content_digest,
        skill_id=skill_id,
        score=score,
        reason=Reason(code, message, next_step) if code else None,
        lease=lease,
        created_at=created_at,
        updated_at=updated_at,
        received_at=received_at,
        scanning_at=scanning_at,
        decided_at=decided_at,
    )
