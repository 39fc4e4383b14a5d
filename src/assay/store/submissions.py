"""Submissions: insert, claim, move, read. Every change of state goes through `move`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from secrets import token_hex
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    CTE,
    Integer,
    Select,
    Text,
    and_,
    cast,
    column,
    func,
    insert,
    literal,
    select,
    true,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Conflict, NotFound
from assay.model.submission import ACTIVE, TRANSITIONS, Origin, Reason, State, Submission
from assay.store.repositories import COLUMNS as REPOSITORY_COLUMNS
from assay.store.repositories import repository_of
from assay.store.tables import change, repository, submission, submission_event

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


class LostLease(Conflict):
    """Somebody else has taken the submission over since it was read."""

    code = "lease_lost"


@dataclass(frozen=True)
class NewSubmission:
    """What is known of a submission before it has a row."""

    id: UUID
    repository_id: int
    skill_name: str
    skill_path: str
    origin: Origin
    submitter: str | None
    upload_digest: str | None
    priority: int = 0


@dataclass(frozen=True)
class Step:
    """One arrow of the state diagram, taken for a reason."""

    to: State
    trigger: str
    metadata: Mapping[str, object] | None = None


async def insert_submission(db: AsyncConnection, new: NewSubmission, *, actor: str) -> bool:
    """Insert the row with its first event and change record; False if the natural key is taken."""
    fresh = (
        upsert(submission)
        .values(
            id=new.id,
            repository_id=new.repository_id,
            skill_name=new.skill_name,
            skill_path=new.skill_path,
            state=State.RECEIVED.value,
            origin=new.origin.value,
            submitter=new.submitter,
            upload_digest=new.upload_digest,
            priority=new.priority,
        )
        .on_conflict_do_nothing()
        .returning(submission.c.id)
        .cte("moved")
    )
    statement = _with_history(fresh, None, (Step(State.RECEIVED, "submitted"),), actor)
    return bool((await db.execute(statement)).scalar_one())


async def move(db: AsyncConnection, before: Submission, *steps: Step, actor: str, **assign: object) -> Submission:
    """Take one or more arrows at once, with an event and a change record each.

    Raises LostLease if the row is no longer in the state and version of `before`: that is the fence
    behind which a worker that lost its lease cannot write.
    """
    state = before.state
    for step in steps:
        if step.to not in TRANSITIONS[state]:
            raise AssertionError(f"There is no arrow from {state} to {step.to}.")
        state = step.to
    moved = (
        update(submission)
        .where(
            submission.c.id == before.id,
            submission.c.state == before.state.value,
            submission.c.version == before.version,
        )
        .values(
            state=state.value,
            version=submission.c.version + len(steps),
            updated_at=func.now(),
            **_stage_columns(state),
            **assign,
        )
        .returning(submission.c.id)
        .cte("moved")
    )
    statement = _with_history(moved, before.state, steps, actor)
    if not (await db.execute(statement)).scalar_one():
        raise LostLease(f"Submission {before.id} was taken over while it was {before.state}.")
    return await get_submission(db, before.id)


async def reopen(
    db: AsyncConnection, before: Submission, step: Step, *, actor: str, upload_digest: str | None
) -> Submission:
    """Back to RECEIVED for a new cycle: fresh budgets, no reason; the caller enqueues its job."""
    return await move(
        db,
        before,
        step,
        actor=actor,
        cycle=before.cycle + 1,
        received_at=func.now(),
        attempts=0,
        claims=0,
        reason_code=None,
        reason_message=None,
        next_step=None,
        upload_digest=upload_digest,
    )


async def update_in_place(db: AsyncConnection, before: Submission, **assign: object) -> None:
    """Change columns without a change of state; fenced like `move`."""
    statement = (
        update(submission)
        .where(submission.c.id == before.id, submission.c.version == before.version)
        .values(version=submission.c.version + 1, updated_at=func.now(), **assign)
    )
    if (await db.execute(statement)).rowcount != 1:
        raise LostLease(f"Submission {before.id} was taken over while it was {before.state}.")


async def claim_submission(
    db: AsyncConnection, submission_id: UUID, cycle: int, *, worker: str, lease_seconds: float
) -> Submission | None:
    """Take the lease of an active submission, whoever held it; None if this cycle is over.

    Every claim has a name of its own, so that even the same worker cannot write for an earlier claim.
    """
    claimed = (
        update(submission)
        .where(
            submission.c.id == submission_id,
            submission.c.cycle == cycle,
            submission.c.state.in_([state.value for state in sorted(ACTIVE)]),
        )
        .values(
            version=submission.c.version + 1,
            claims=submission.c.claims + 1,
            lease_owner=f"{worker}#{token_hex(4)}",
            lease_expires_at=func.now() + func.make_interval(0, 0, 0, 0, 0, 0, lease_seconds),
        )
        .returning(submission.c.id)
    )
    if (await db.execute(claimed)).one_or_none() is None:
        return None
    taken = await get_submission(db, submission_id)
    if taken.state is State.RECEIVED:
        return taken
    step = Step(State.RECEIVED, "lease lost", {"taken_over_by": worker})
    return await move(db, taken, step, actor="worker")


async def renew(db: AsyncConnection, mine: Submission) -> Submission:
    """The row as it is now, locked, if this lease still holds; else LostLease."""
    statement = _read().where(
        submission.c.id == mine.id, submission.c.cycle == mine.cycle, submission.c.lease_owner == mine.lease
    )
    row = (await db.execute(statement.with_for_update(of=submission))).one_or_none()
    if row is None:
        raise LostLease(f"Submission {mine.id} was taken over.")
    return _submission(row)


async def get_submission(db: AsyncConnection, submission_id: UUID) -> Submission:
    """One submission, or NotFound."""
    row = (await db.execute(_read().where(submission.c.id == submission_id))).one_or_none()
    if row is None:
        raise NotFound(f"There is no submission {submission_id}.", code="submission_not_found")
    return _submission(row)


async def lock_by_natural_key(db: AsyncConnection, repository_id: int, skill_name: str, skill_path: str) -> Submission:
    """The submission of this skill, locked until the end of the transaction."""
    statement = _read().where(
        submission.c.repository_id == repository_id,
        submission.c.skill_name == skill_name,
        submission.c.skill_path == skill_path,
    )
    return _submission((await db.execute(statement.with_for_update(of=submission))).one())


async def list_submissions(
    db: AsyncConnection,
    *,
    states: frozenset[State] | None,
    before: tuple[datetime, UUID] | None,
    limit: int,
) -> list[Submission]:
    """A page, newest first, from after the `before` position (created_at, id)."""
    statement = _read()
    if states is not None:
        statement = statement.where(submission.c.state.in_([state.value for state in sorted(states)]))
    if before is not None:
        statement = statement.where(tuple_(submission.c.created_at, submission.c.id) < tuple_(*map(literal, before)))
    ordered = statement.order_by(submission.c.created_at.desc(), submission.c.id.desc()).limit(limit)
    return [_submission(row) for row in await db.execute(ordered)]


def _with_history(moved: CTE, start: State | None, steps: tuple[Step, ...], actor: str) -> Select[int]:
    """Wrap a writing CTE so that its events and change records are written by the same statement."""
    before = [start.value if start else None, *(step.to.value for step in steps[:-1])]
    arrows = (
        func.unnest(
            cast(before, ARRAY(Text)),
            cast([step.to.value for step in steps], ARRAY(Text)),
            cast([step.trigger for step in steps], ARRAY(Text)),
            cast([dict(step.metadata or {}) for step in steps], ARRAY(JSONB)),
        )
        .table_valued(
            column("from_state", Text),
            column("to_state", Text),
            column("trigger", Text),
            column("metadata", JSONB),
            with_ordinality="position",
        )
        .render_derived("arrow")
    )
    joined = moved.join(arrows, true())
    events = insert(submission_event).from_select(
        ["submission_id", "from_state", "to_state", "trigger", "actor", "metadata"],
        select(
            moved.c.id,
            arrows.c.from_state,
            arrows.c.to_state,
            arrows.c.trigger,
            literal(actor, Text),
            arrows.c.metadata,
        )
        .select_from(joined)
        .order_by(arrows.c.position),
    )
    changes = insert(change).from_select(
        ["kind", "submission_id", "data"],
        select(
            literal("submission", Text),
            moved.c.id,
            func.jsonb_build_object("from", arrows.c.from_state, "to", arrows.c.to_state),
        )
        .select_from(joined)
        .order_by(arrows.c.position),
    )
    counted = select(func.count(cast(1, Integer))).select_from(moved)
    return counted.add_cte(events.cte("event"), changes.cte("recorded"))


def _stage_columns(state: State) -> dict[str, Any]:
    """The time stamps and the lease that belong to arriving in a state."""
    match state:
        case State.RECEIVED:
            return {"scanning_at": None, "decided_at": None}
        case State.TIER1_SCANNING:
            return {"scanning_at": func.now()}
        case State.TIER2_SCANNING | State.AUTO_APPROVED:
            return {}
        case _:
            return {"decided_at": func.now(), "lease_owner": None, "lease_expires_at": None}


def _read() -> Select[Any]:
    joined = submission.join(repository, and_(submission.c.repository_id == repository.c.id))
    return select(*COLUMNS, *REPOSITORY_COLUMNS).select_from(joined)


def _submission(row: Sequence[Any]) -> Submission:
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
