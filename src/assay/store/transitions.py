"""Every change of a submission: insert, claim, move. Each change of state leaves its event and change record.

The statements are written out, because this is the hot path: each is one round trip, whatever it has to do.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from secrets import token_hex
from uuid import UUID

from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Conflict
from assay.model.submission import ACTIVE, TRANSITIONS, Origin, State, Submission
from assay.store.repositories import COLUMNS as REPOSITORY_COLUMNS
from assay.store.submissions import COLUMNS, get_submission, submission_of

ROW = ", ".join(
    [*(f"moved.{column.name}" for column in COLUMNS), *(f"repository.{column.name}" for column in REPOSITORY_COLUMNS)]
)
HISTORY = f"""
), arrow AS (
    SELECT * FROM unnest(
        CAST(:from_states AS text[]), CAST(:to_states AS text[]), CAST(:triggers AS text[]), CAST(:metadata AS jsonb[])
    ) WITH ORDINALITY AS arrow (from_state, to_state, trigger, metadata, position)
), event AS (
    INSERT INTO submission_event (submission_id, from_state, to_state, trigger, actor, metadata)
    SELECT moved.id, from_state, to_state, trigger, :actor, metadata FROM moved, arrow ORDER BY position
), recorded AS (
    INSERT INTO change (kind, submission_id, data)
    SELECT 'submission', moved.id, jsonb_build_object('from', from_state, 'to', to_state)
    FROM moved, arrow ORDER BY position
)
SELECT {ROW} FROM moved JOIN repository ON repository.id = moved.repository_id
"""
INSERT = text(
    """
    WITH moved AS (
        INSERT INTO submission
            (id, repository_id, skill_name, skill_path, state, origin, submitter, upload_digest, priority)
        VALUES
            (:id, :repository_id, :skill_name, :skill_path, 'RECEIVED', :origin, :submitter, :upload_digest, :priority)
        ON CONFLICT DO NOTHING
        RETURNING *
    """
    + HISTORY
)
CLAIM = text(
    f"""
    WITH moved AS (
        UPDATE submission SET
            version = version + 1,
            claims = claims + 1,
            lease_owner = :lease,
            lease_expires_at = now() + make_interval(secs => CAST(:lease_seconds AS float))
        WHERE id = :id AND cycle = :cycle AND state IN ({", ".join(f"'{state}'" for state in sorted(ACTIVE))})
        RETURNING *
    )
    SELECT {ROW} FROM moved JOIN repository ON repository.id = moved.repository_id
    """
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


async def insert_submission(db: AsyncConnection, new: NewSubmission, *, actor: str) -> Submission | None:
    """Insert the row with its first event and change record; None if the natural key is taken."""
    history = _history(None, (Step(State.RECEIVED, "submitted"),), actor)
    row = (await db.execute(INSERT, asdict(new) | {"origin": new.origin.value} | history)).one_or_none()
    return submission_of(row) if row else None


async def move(db: AsyncConnection, before: Submission, *steps: Step, actor: str, **assign: object) -> Submission:
    """Take one or more arrows at once, with an event and a change record each.

    Raises LostLease if the row is no longer in the state and version of `before`: that is the fence
    behind which a worker that lost its lease cannot write.
    """
    return await _move(db, before, steps, actor, assign)


async def reopen(
    db: AsyncConnection, before: Submission, step: Step, *, actor: str, upload_digest: str | None
) -> Submission:
    """Back to RECEIVED for a new cycle: fresh budgets, no reason; the caller enqueues its job."""
    fresh = {"cycle": before.cycle + 1, "attempts": 0, "claims": 0, "upload_digest": upload_digest}
    reasons = dict.fromkeys(("reason_code", "reason_message", "next_step"))
    return await _move(db, before, (step,), actor, fresh | reasons, new_round=True)


async def update_in_place(db: AsyncConnection, before: Submission, **assign: object) -> None:
    """Change columns without a change of state; fenced like `move`."""
    changes = ", ".join(f"{column} = :{column}" for column in assign)
    statement = text(
        f"UPDATE submission SET version = version + 1, updated_at = now(), {changes} "
        "WHERE id = :id AND version = :version"
    )
    result = await db.execute(statement, {"id": before.id, "version": before.version, **assign})
    if result.rowcount != 1:
        raise LostLease(f"Submission {before.id} was taken over while it was {before.state}.")


async def claim_submission(
    db: AsyncConnection, submission_id: UUID, cycle: int, *, worker: str, lease_seconds: float
) -> Submission | None:
    """Take the lease of an active submission, whoever held it; None if this cycle is over.

    Every claim has a name of its own, so that even the same worker cannot write for an earlier claim.
    """
    lease = {"lease": f"{worker}#{token_hex(4)}", "lease_seconds": lease_seconds}
    row = (await db.execute(CLAIM, {"id": submission_id, "cycle": cycle, **lease})).one_or_none()
    if row is None:
        return None
    taken = submission_of(row)
    if taken.state is State.RECEIVED:
        return taken
    return await move(db, taken, Step(State.RECEIVED, "lease lost", {"taken_over_by": worker}), actor="worker")


async def renew(db: AsyncConnection, mine: Submission) -> Submission:
    """The row as it is now, locked, if this lease still holds; else LostLease."""
    held = text("SELECT 1 FROM submission WHERE id = :id AND cycle = :cycle AND lease_owner = :lease FOR UPDATE")
    found = await db.execute(held, {"id": mine.id, "cycle": mine.cycle, "lease": mine.lease})
    if found.one_or_none() is None:
        raise LostLease(f"Submission {mine.id} was taken over.")
    return await get_submission(db, mine.id)


async def _move(
    db: AsyncConnection,
    before: Submission,
    steps: tuple[Step, ...],
    actor: str,
    assign: Mapping[str, object],
    *,
    new_round: bool = False,
) -> Submission:
    state = before.state
    for step in steps:
        if step.to not in TRANSITIONS[state]:
            raise AssertionError(f"There is no arrow from {state} to {step.to}.")
        state = step.to
    guard = {"id": before.id, "from_state": before.state.value, "version": before.version}
    change = {"to_state": state.value, "steps": len(steps), **assign}
    statement = _update(tuple(sorted(assign)), state, new_round)
    row = (await db.execute(statement, guard | change | _history(before.state, steps, actor))).one_or_none()
    if row is None:
        raise LostLease(f"Submission {before.id} was taken over while it was {before.state}.")
    return submission_of(row)


@cache
def _update(assigned: tuple[str, ...], state: State, new_round: bool) -> TextClause:
    """The statement that moves to a state and assigns these columns; there are few such combinations."""
    columns = {column: f":{column}" for column in assigned} | _stamps(state)
    if new_round:
        columns["received_at"] = "now()"
    changes = ", ".join(f"{column} = {value}" for column, value in columns.items())
    return text(
        f"""
        WITH moved AS (
            UPDATE submission
            SET state = :to_state, version = version + :steps, updated_at = now(), {changes}
            WHERE id = :id AND state = :from_state AND version = :version
            RETURNING *
        """
        + HISTORY
    )


def _stamps(state: State) -> dict[str, str]:
    """The time stamps and the lease that belong to arriving in a state."""
    match state:
        case State.RECEIVED:
            return {"scanning_at": "NULL", "decided_at": "NULL"}
        case State.TIER1_SCANNING:
            return {"scanning_at": "now()"}
        case State.TIER2_SCANNING | State.AUTO_APPROVED:
            return {}
        case _:
            return {"decided_at": "now()", "lease_owner": "NULL", "lease_expires_at": "NULL"}


def _history(start: State | None, steps: tuple[Step, ...], actor: str) -> dict[str, object]:
    return {
        "from_states": [start.value if start else None, *(step.to.value for step in steps[:-1])],
        "to_states": [step.to.value for step in steps],
        "triggers": [step.trigger for step in steps],
        "metadata": [json.dumps(dict(step.metadata or {})) for step in steps],
        "actor": actor,
    }
