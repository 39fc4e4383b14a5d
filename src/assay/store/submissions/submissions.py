"""Reading submissions and their history. Changes are in `transitions.py`."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Select, Uuid, any_, literal, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import NotFound
from assay.model.submission import REOPENED_BY_RESUBMISSION, Origin, Reason, State, Submission, SubmissionEvent
from assay.store.database.records import json_text
from assay.store.repositories.repositories import COLUMNS as REPOSITORY_COLUMNS
from assay.store.repositories.repositories import repository_of
from assay.store.tables import (
    repository,
    submission,
    submission_event,
)
from assay.store.tables.base import quoted

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
    submission.c.is_name_chosen,
)


NaturalKey = tuple[int, str, str]
ROW = ", ".join(
    [
        *(f"submission.{column.name}" for column in COLUMNS),
        *(f"repository.{column.name}" for column in REPOSITORY_COLUMNS),
    ]
)
FIND_BY_KEY = text(
    f"""
    SELECT {ROW}
    FROM jsonb_to_recordset(CAST(:keys AS jsonb)) AS wanted (repository_id bigint, skill_name text, skill_path text)
    JOIN submission USING (repository_id, skill_name, skill_path)
    JOIN repository ON repository.id = submission.repository_id
    """
)
OF_REPOSITORY = text(
    f"""
    SELECT {ROW} FROM submission JOIN repository ON repository.id = submission.repository_id
    WHERE submission.repository_id = :repository_id
    ORDER BY submission.skill_path, submission.created_at
    LIMIT :at_most
    """
)
# Locks only decided submissions, in the order of ids. Workers write only to active ones, so the two cannot deadlock.
# Rows that left these states while waiting for the lock are left out.
LOCK_DECIDED = text(
    f"""
    SELECT {ROW} FROM submission JOIN repository ON repository.id = submission.repository_id
    WHERE submission.id = ANY(:ids) AND submission.state IN ({quoted(REOPENED_BY_RESUBMISSION)})
    ORDER BY submission.id
    FOR NO KEY UPDATE OF submission
    """
)


async def get_submission(db: AsyncConnection, submission_id: UUID) -> Submission:
    """Raise NotFound if it does not exist."""
    row = (await db.execute(read_submissions().where(submission.c.id == submission_id))).one_or_none()
    if row is None:
        raise NotFound(f"There is no submission {submission_id}.", code="submission_not_found")
    return submission_of(row)


async def find_submissions(db: AsyncConnection, ids: Sequence[UUID]) -> dict[UUID, Submission]:
    rows = await db.execute(read_submissions().where(submission.c.id == any_(literal(list(ids), ARRAY(Uuid)))))
    return {each.id: each for each in map(submission_of, rows)}


async def find_cycles(db: AsyncConnection, ids: Sequence[UUID], states: Iterable[State]) -> dict[UUID, int]:
    """Return the cycles of the submissions that are in one of these states."""
    statement = select(submission.c.id, submission.c.cycle).where(
        submission.c.id == any_(literal(list(ids), ARRAY(Uuid))),
        submission.c.state.in_([state.value for state in sorted(states)]),
    )
    return {row.id: row.cycle for row in await db.execute(statement)}


def read_submissions() -> Select[Any]:
    """Return the statement for submissions with their repositories, to be narrowed and ordered."""
    joined = submission.join(repository, submission.c.repository_id == repository.c.id)
    return select(*COLUMNS, *REPOSITORY_COLUMNS).select_from(joined)


def submission_of(row: Sequence[Any]) -> Submission:
    (
        number, skill_name, skill_path, state, version, cycle, priority, attempts, claims, origin, submitter,
        upload_digest, content_digest, skill_id, score, code, message, next_step, lease, created_at,
        updated_at, received_at, scanning_at, decided_at, is_name_chosen, *repository_row,
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
        is_name_chosen=is_name_chosen,
    )


async def list_events(db: AsyncConnection, submission_id: UUID) -> list[SubmissionEvent]:
    """Return the history of a submission, oldest first."""
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


async def find_by_natural_key(db: AsyncConnection, keys: Sequence[NaturalKey]) -> dict[NaturalKey, Submission]:
    """Return the submissions of these skills; skills without one are left out."""
    if not keys:
        return {}
    rows = [{"repository_id": number, "skill_name": name, "skill_path": path} for number, name, path in keys]
    return _by_key((await db.execute(FIND_BY_KEY, {"keys": json_text(rows)})).all())


async def list_by_path(db: AsyncConnection, repository_id: int, at_most: int) -> dict[str, Submission]:
    """Return the submissions of a repository by skill path; the newest if there are several for a path."""
    rows = await db.execute(OF_REPOSITORY, {"repository_id": repository_id, "at_most": at_most})
    return {each.skill_path: each for each in map(submission_of, rows)}


async def lock_reopenable(db: AsyncConnection, ids: Sequence[UUID]) -> dict[NaturalKey, Submission]:
    """Lock the submissions that can be reopened. The others are returned unlocked, in their current state."""
    if not ids:
        return {}
    locked = _by_key((await db.execute(LOCK_DECIDED, {"ids": list(ids)})).all())
    missing = set(ids) - {each.id for each in locked.values()}
    if not missing:
        return locked
    now = text(
        f"SELECT {ROW} FROM submission JOIN repository ON repository.id = submission.repository_id "
        "WHERE submission.id = ANY(:ids)"
    )
    return locked | _by_key((await db.execute(now, {"ids": list(missing)})).all())


def _by_key(rows: Sequence[Sequence[object]]) -> dict[NaturalKey, Submission]:
    found = map(submission_of, rows)
    return {(each.repository.id, each.skill_name, each.skill_path): each for each in found}


async def list_ids_of_skill(db: AsyncConnection, skill_id: UUID) -> list[UUID]:
    """Return the ids of the submissions of a listing, most recently received first."""
    statement = select(submission.c.id).where(submission.c.skill_id == skill_id)
    return list((await db.execute(statement.order_by(submission.c.received_at.desc(), submission.c.id))).scalars())


async def is_submitter(db: AsyncConnection, skill_id: UUID, submitter: str) -> bool:
    submitted = select(submission.c.id).where(submission.c.skill_id == skill_id, submission.c.submitter == submitter)
    return (await db.execute(submitted.limit(1))).one_or_none() is not None
