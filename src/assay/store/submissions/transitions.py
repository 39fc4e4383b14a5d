"""Every change of a submission: insert, claim, move. A change of state writes its event and change record.

All functions are set-based: many submissions cost one statement. The SQL is handwritten, because this is the hot
path.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from secrets import token_hex
from types import MappingProxyType
from uuid import UUID

from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Conflict
from assay.model.repository import Repository
from assay.model.submission import ACTIVE, TRANSITIONS, Origin, State, Submission
from assay.store.database.records import json_text, recordset
from assay.store.repositories.repositories import COLUMNS as REPOSITORY_COLUMNS
from assay.store.submissions.submissions import COLUMNS, get_submission, submission_of
from assay.store.tables import submission

ROW = ", ".join(
    [*(f"moved.{column.name}" for column in COLUMNS), *(f"repository.{column.name}" for column in REPOSITORY_COLUMNS)]
)
HISTORY = f"""
), arrow AS (
    SELECT * FROM jsonb_to_recordset(CAST(:arrows AS jsonb)) AS arrow (
        id uuid, position int, from_state text, to_state text, trigger text, actor text, metadata jsonb
    )
), event AS (
    INSERT INTO submission_event (submission_id, from_state, to_state, trigger, actor, metadata)
    SELECT id, from_state, to_state, trigger, actor, arrow.metadata
    FROM arrow WHERE id IN (SELECT id FROM moved) ORDER BY position
), recorded AS (
    INSERT INTO change (kind, submission_id, data)
    SELECT 'submission', id,
        arrow.metadata || jsonb_build_object('from', from_state, 'to', to_state, 'trigger', trigger)
    FROM arrow WHERE id IN (SELECT id FROM moved) ORDER BY position
)
SELECT {ROW} FROM moved JOIN repository ON repository.id = moved.repository_id
"""
# Arrays of columns are the cheapest way to insert a thousand rows, for client and server.
INSERT = text(
    """
    WITH fresh AS (
        SELECT * FROM unnest(
            CAST(:ids AS uuid[]), CAST(:repository_ids AS bigint[]), CAST(:skill_names AS text[]),
            CAST(:skill_paths AS text[]), CAST(:origins AS text[]), CAST(:submitters AS text[]),
            CAST(:upload_digests AS text[]), CAST(:are_chosen AS boolean[]), CAST(:actors AS text[])
        ) AS fresh (id, repository_id, skill_name, skill_path, origin, submitter, upload_digest, is_name_chosen, actor)
    ), moved AS (
        INSERT INTO submission
            (id, repository_id, skill_name, skill_path, state, origin, submitter, upload_digest, is_name_chosen)
        SELECT id, repository_id, skill_name, skill_path, 'RECEIVED', origin, submitter, upload_digest, is_name_chosen
        FROM fresh
        ON CONFLICT DO NOTHING
        RETURNING id, created_at
    ), event AS (
        INSERT INTO submission_event (submission_id, to_state, trigger, actor, metadata)
        SELECT id, 'RECEIVED', 'submitted', actor, CAST(:metadata AS jsonb) FROM moved JOIN fresh USING (id)
    ), recorded AS (
        INSERT INTO change (kind, submission_id, data)
        SELECT 'submission', id,
            CAST(:metadata AS jsonb) || '{"from": null, "to": "RECEIVED", "trigger": "submitted"}'::jsonb
        FROM moved
    )
    SELECT id, created_at FROM moved
    """
)
CLAIM = text(
    f"""
    WITH moved AS (
        UPDATE submission SET
            version = version + 1,
            claims = claims + 1,
            lease_owner = wanted.lease,
            lease_expires_at = now() + make_interval(secs => CAST(:lease_seconds AS float))
        FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS wanted (id uuid, cycle int, lease text)
        WHERE submission.id = wanted.id AND submission.cycle = wanted.cycle
            AND state IN ({", ".join(f"'{state}'" for state in sorted(ACTIVE))})
        RETURNING submission.*
    )
    SELECT {ROW} FROM moved JOIN repository ON repository.id = moved.repository_id
    """
)


class LostLease(Conflict):
    """The submission was claimed by another worker or changed since it was read."""

    code = "lease_lost"


@dataclass(frozen=True)
class NewSubmission:
    """A submission to be inserted."""

    id: UUID
    repository: Repository
    skill_name: str
    skill_path: str
    origin: Origin
    submitter: str | None
    upload_digest: str | None
    actor: str
    is_name_chosen: bool = False


@dataclass(frozen=True)
class Reopening:
    """A decided submission to be returned to the queue."""

    before: Submission
    upload_digest: str | None
    actor: str
    trigger: str = "submitted again"
    metadata: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    priority: int = 0
    is_name_chosen: bool = False


@dataclass(frozen=True)
class Step:
    """One allowed transition and its trigger."""

    to: State
    trigger: str
    metadata: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Move:
    """One or more transitions of a submission, and the columns that change with them."""

    before: Submission
    steps: tuple[Step, ...]
    actor: str
    assign: Mapping[str, object]
    new_cycle: bool = False

    def __post_init__(self) -> None:
        state = self.before.state
        for step in self.steps:
            if step.to not in TRANSITIONS[state]:
                raise AssertionError(f"There is no transition from {state} to {step.to}.")
            state = step.to

    @property
    def shape(self) -> tuple[tuple[str, ...], State, bool]:
        """Moves with the same shape share one statement."""
        return tuple(sorted(self.assign)), self.steps[-1].to, self.new_cycle


async def insert_submissions(
    db: AsyncConnection, submissions: Sequence[NewSubmission], *, batch: UUID | None = None
) -> dict[UUID, Submission]:
    """Insert submissions with their first event and change record; known natural keys are left out.

    With a `batch`, each record carries its id, because the batch is announced as a whole.
    """
    columns = {
        "ids": [new.id for new in submissions],
        "repository_ids": [new.repository.id for new in submissions],
        "skill_names": [new.skill_name for new in submissions],
        "skill_paths": [new.skill_path for new in submissions],
        "origins": [new.origin.value for new in submissions],
        "submitters": [new.submitter for new in submissions],
        "upload_digests": [new.upload_digest for new in submissions],
        "are_chosen": [new.is_name_chosen for new in submissions],
        "actors": [new.actor for new in submissions],
        "metadata": json_text({"batch": batch} if batch else {}),
    }
    created: dict[UUID, datetime] = dict((await db.execute(INSERT, columns)).all())
    return {new.id: _fresh(new, created[new.id]) for new in submissions if new.id in created}


async def move(db: AsyncConnection, before: Submission, *steps: Step, actor: str, **assign: object) -> Submission:
    """Apply one or more transitions. Raises LostLease if the row is no longer in the state and version of `before`."""
    return await move_one(db, Move(before, steps, actor, assign))


async def move_all(db: AsyncConnection, moves: Sequence[Move]) -> dict[UUID, Submission]:
    """Apply moves and return the submissions that changed; stale ones are left out.

    The check of state and version fences off workers that lost their lease.
    """
    shapes = defaultdict(list)
    for each in moves:
        shapes[each.shape].append(each)
    moved: dict[UUID, Submission] = {}
    for shape, group in shapes.items():
        rows = [_guarded(each) for each in group]
        arrows = [
            arrow for each in group for arrow in _arrows(each.before.id, each.before.state, each.steps, each.actor)
        ]
        found = await db.execute(_update(*shape), {"rows": json_text(rows), "arrows": json_text(arrows)})
        moved |= _by_id(found.all())
    return moved


async def reopen_all(db: AsyncConnection, reopenings: Sequence[Reopening]) -> dict[UUID, Submission]:
    """Return submissions to RECEIVED for a new cycle, with fresh retry budgets and no reason.

    The caller holds the locks and enqueues the jobs. Raises AssertionError if a submission was not locked.
    """
    reasons = dict.fromkeys(("reason_code", "reason_message", "next_step"))
    moves = [
        Move(
            each.before,
            (Step(State.RECEIVED, each.trigger, each.metadata),),
            each.actor,
            {
                "cycle": each.before.cycle + 1,
                "attempts": 0,
                "claims": 0,
                "priority": each.priority,
                "upload_digest": each.upload_digest,
                "is_name_chosen": each.before.is_name_chosen or each.is_name_chosen,
                **reasons,
            },
            new_cycle=True,
        )
        for each in reopenings
    ]
    moved = await move_all(db, moves)
    if len(moved) != len(moves):
        raise AssertionError("A submission must be locked before it is reopened.")
    return moved


async def update_in_place(db: AsyncConnection, before: Submission, **assign: object) -> None:
    """Change columns without a change of state; fenced like `move`."""
    changes = ", ".join(f"{column} = :{column}" for column in assign)
    statement = text(
        f"UPDATE submission SET version = version + 1, updated_at = now(), {changes} "
        "WHERE id = :id AND version = :version"
    )
    result = await db.execute(statement, {"id": before.id, "version": before.version, **assign})
    if result.rowcount != 1:
        raise _lost(before)


async def claim_submissions(
    db: AsyncConnection, cycles: Sequence[tuple[UUID, int]], *, worker: str, lease_seconds: float
) -> dict[UUID, Submission]:
    """Claim active submissions, taking over any lease; those whose cycle is over are left out.

    Every claim has a unique lease name, so that even the same worker cannot write under an earlier claim.
    """
    rows = [{"id": number, "cycle": cycle, "lease": f"{worker}#{token_hex(4)}"} for number, cycle in cycles]
    found = await db.execute(CLAIM, {"rows": json_text(rows), "lease_seconds": lease_seconds})
    claimed = _by_id(found.all())
    lost = Step(State.RECEIVED, "lease lost", {"taken_over_by": worker})
    taken_over = [Move(each, (lost,), "worker", {}) for each in claimed.values() if each.state is not State.RECEIVED]
    return claimed | await move_all(db, taken_over)


async def renew(db: AsyncConnection, claimed: Submission) -> Submission:
    """Return the current row, locked. Raises LostLease if this lease is no longer valid."""
    statement = text(
        "SELECT 1 FROM submission WHERE id = :id AND cycle = :cycle AND lease_owner = :lease FOR NO KEY UPDATE"
    )
    found = await db.execute(statement, {"id": claimed.id, "cycle": claimed.cycle, "lease": claimed.lease})
    if found.one_or_none() is None:
        raise _lost(claimed)
    return await get_submission(db, claimed.id)


async def move_one(db: AsyncConnection, one: Move) -> Submission:
    """Apply one move. Raises LostLease like `move`."""
    moved = await move_all(db, [one])
    if one.before.id not in moved:
        raise _lost(one.before)
    return moved[one.before.id]


@cache
def _update(assigned: tuple[str, ...], state: State, new_cycle: bool) -> TextClause:
    """The statement of a shape; there are few of them."""
    columns = {column: f"given.{column}" for column in assigned} | _stamps(state)
    if new_cycle:
        columns["received_at"] = "now()"
    changes = ", ".join(f"{column} = {value}" for column, value in columns.items())
    types = recordset(submission.c[column] for column in ("id", *assigned))
    return text(
        f"""
        WITH moved AS (
            UPDATE submission
            SET state = '{state}', version = submission.version + given.steps, updated_at = now(), {changes}
            FROM jsonb_to_recordset(CAST(:rows AS jsonb))
                AS given (from_state text, from_version int, steps int, {types})
            WHERE submission.id = given.id AND state = given.from_state AND version = given.from_version
            RETURNING submission.*
        """
        + HISTORY
    )


def _stamps(state: State) -> dict[str, str]:
    """Return the time stamps and lease columns that entering a state sets."""
    match state:
        case State.RECEIVED:
            return {"scanning_at": "NULL", "decided_at": "NULL"}
        case State.TIER1_SCANNING:
            return {"scanning_at": "now()"}
        case State.TIER2_SCANNING | State.AUTO_APPROVED:
            return {}
        case _:
            return {"decided_at": "now()", "lease_owner": "NULL", "lease_expires_at": "NULL"}


def _fresh(new: NewSubmission, now: datetime) -> Submission:
    return Submission(
        id=new.id,
        repository=new.repository,
        skill_name=new.skill_name,
        skill_path=new.skill_path,
        state=State.RECEIVED,
        version=1,
        cycle=1,
        priority=0,
        attempts=0,
        claims=0,
        origin=new.origin,
        submitter=new.submitter,
        upload_digest=new.upload_digest,
        content_digest=None,
        skill_id=None,
        score=None,
        reason=None,
        lease=None,
        created_at=now,
        updated_at=now,
        received_at=now,
        scanning_at=None,
        decided_at=None,
        is_name_chosen=new.is_name_chosen,
    )


def _guarded(one: Move) -> dict[str, object]:
    before = one.before
    guard = {"id": before.id, "from_state": before.state, "from_version": before.version, "steps": len(one.steps)}
    return guard | dict(one.assign)


def _arrows(number: UUID, start: State | None, steps: tuple[Step, ...], actor: str) -> list[dict[str, object]]:
    starts = [start, *(step.to for step in steps[:-1])]
    return [
        {
            "id": number,
            "position": position,
            "from_state": before,
            "to_state": step.to,
            "trigger": step.trigger,
            "actor": actor,
            "metadata": dict(step.metadata),
        }
        for position, (before, step) in enumerate(zip(starts, steps, strict=True))
    ]


def _by_id(rows: Sequence[Sequence[object]]) -> dict[UUID, Submission]:
    return {each.id: each for each in map(submission_of, rows)}


def _lost(before: Submission) -> LostLease:
    return LostLease(f"Submission {before.id} was taken over by another worker while it was {before.state}.")
