"""Every change of a submission: insert, claim, move. Each change of state leaves its event and change record.

All of it is set-based: many submissions cost one statement, and one submission is a set of one. The statements are
written out, because this is the hot path.
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
# Columns as arrays: of all ways to bring a thousand rows in, the cheapest for both sides.
INSERT = text(
    """
    WITH fresh AS (
        SELECT * FROM unnest(
            CAST(:ids AS uuid[]), CAST(:repository_ids AS bigint[]), CAST(:skill_names AS text[]),
            CAST(:skill_paths AS text[]), CAST(:origins AS text[]), CAST(:submitters AS text[]),
            CAST(:upload_digests AS text[]), CAST(:actors AS text[])
        ) AS fresh (id, repository_id, skill_name, skill_path, origin, submitter, upload_digest, actor)
    ), moved AS (
        INSERT INTO submission (id, repository_id, skill_name, skill_path, state, origin, submitter, upload_digest)
        SELECT id, repository_id, skill_name, skill_path, 'RECEIVED', origin, submitter, upload_digest FROM fresh
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
    """Somebody else has taken the submission over since it was read."""

    code = "lease_lost"


@dataclass(frozen=True)
class NewSubmission:
    """What is known of a submission before it has a row."""

    id: UUID
    repository: Repository
    skill_name: str
    skill_path: str
    origin: Origin
    submitter: str | None
    upload_digest: str | None
    actor: str


@dataclass(frozen=True)
class Reopening:
    """A decided submission that goes back to the queue."""

    before: Submission
    upload_digest: str | None
    actor: str
    trigger: str = "submitted again"
    metadata: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    priority: int = 0


@dataclass(frozen=True)
class Step:
    """One arrow of the state diagram, taken for a reason."""

    to: State
    trigger: str
    metadata: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Move:
    """One or more arrows of one submission, and the columns that change with them."""

    before: Submission
    steps: tuple[Step, ...]
    actor: str
    assign: Mapping[str, object]
    new_round: bool = False

    def __post_init__(self) -> None:
        state = self.before.state
        for step in self.steps:
            if step.to not in TRANSITIONS[state]:
                raise AssertionError(f"There is no arrow from {state} to {step.to}.")
            state = step.to

    @property
    def shape(self) -> tuple[tuple[str, ...], State, bool]:
        """Moves of the same shape are one statement."""
        return tuple(sorted(self.assign)), self.steps[-1].to, self.new_round


async def insert_submissions(
    db: AsyncConnection, news: Sequence[NewSubmission], *, batch: UUID | None = None
) -> dict[UUID, Submission]:
    """Insert rows with their first event and change record; those whose natural key is taken are left out.

    What came in with a `batch` says so, because the batch is announced as a whole.
    """
    columns = {
        "ids": [new.id for new in news],
        "repository_ids": [new.repository.id for new in news],
        "skill_names": [new.skill_name for new in news],
        "skill_paths": [new.skill_path for new in news],
        "origins": [new.origin.value for new in news],
        "submitters": [new.submitter for new in news],
        "upload_digests": [new.upload_digest for new in news],
        "actors": [new.actor for new in news],
        "metadata": json_text({"batch": batch} if batch else {}),
    }
    created: dict[UUID, datetime] = dict((await db.execute(INSERT, columns)).all())
    return {new.id: _fresh(new, created[new.id]) for new in news if new.id in created}


async def move(db: AsyncConnection, before: Submission, *steps: Step, actor: str, **assign: object) -> Submission:
    """Take one or more arrows at once. Raises LostLease if the row is no longer as `before` says."""
    return await move_one(db, Move(before, steps, actor, assign))


async def move_all(db: AsyncConnection, moves: Sequence[Move]) -> dict[UUID, Submission]:
    """The submissions that moved. Those left out are no longer in the state and version of their `before`.

    That is the fence behind which a worker that lost its lease cannot write.
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
    """Back to RECEIVED for a new cycle: fresh budgets, no reason; the caller holds the locks and enqueues the jobs."""
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
                **reasons,
            },
            new_round=True,
        )
        for each in reopenings
    ]
    moved = await move_all(db, moves)
    if len(moved) != len(moves):
        raise AssertionError("A submission that is reopened must be locked first.")
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
    db: AsyncConnection, wanted: Sequence[tuple[UUID, int]], *, worker: str, lease_seconds: float
) -> dict[UUID, Submission]:
    """Take the leases of active submissions, whoever held them; those whose cycle is over are left out.

    Every claim has a name of its own, so that even the same worker cannot write for an earlier claim.
    """
    rows = [{"id": number, "cycle": cycle, "lease": f"{worker}#{token_hex(4)}"} for number, cycle in wanted]
    found = await db.execute(CLAIM, {"rows": json_text(rows), "lease_seconds": lease_seconds})
    taken = _by_id(found.all())
    lost = Step(State.RECEIVED, "lease lost", {"taken_over_by": worker})
    orphans = [Move(each, (lost,), "worker", {}) for each in taken.values() if each.state is not State.RECEIVED]
    return taken | await move_all(db, orphans)


async def renew(db: AsyncConnection, mine: Submission) -> Submission:
    """The row as it is now, locked, if this lease still holds; else LostLease."""
    held = text("SELECT 1 FROM submission WHERE id = :id AND cycle = :cycle AND lease_owner = :lease FOR NO KEY UPDATE")
    found = await db.execute(held, {"id": mine.id, "cycle": mine.cycle, "lease": mine.lease})
    if found.one_or_none() is None:
        raise _lost(mine)
    return await get_submission(db, mine.id)


async def move_one(db: AsyncConnection, wanted: Move) -> Submission:
    """Like `move`, for a move that is made already."""
    moved = await move_all(db, [wanted])
    if wanted.before.id not in moved:
        raise _lost(wanted.before)
    return moved[wanted.before.id]


@cache
def _update(assigned: tuple[str, ...], state: State, new_round: bool) -> TextClause:
    """The statement of a shape; there are few of them."""
    columns = {column: f"given.{column}" for column in assigned} | _stamps(state)
    if new_round:
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


def _fresh(new: NewSubmission, now: datetime) -> Submission:
    """The row as it was just inserted."""
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
    )


def _guarded(wanted: Move) -> dict[str, object]:
    before = wanted.before
    guard = {"id": before.id, "from_state": before.state, "from_version": before.version, "steps": len(wanted.steps)}
    return guard | dict(wanted.assign)


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
    return LostLease(f"Submission {before.id} was taken over while it was {before.state}.")
