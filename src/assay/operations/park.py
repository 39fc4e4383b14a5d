"""Take submissions out of the queue, or hold them: what waits, what is in flight, what could not be examined."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.job import Job
from assay.model.submission import TRANSITIONS, State, Submission
from assay.store.operations.audit import record_audit
from assay.store.queue.jobs import remove_jobs
from assay.store.submissions.selection import lock_by_ids
from assay.store.submissions.transitions import Move, Step, move_all

Parked = Literal[State.DEQUEUED, State.ON_HOLD]
WORDS = {
    State.DEQUEUED: ("dequeued", "An operator took it out of the queue; ask them before you submit it again."),
    State.ON_HOLD: ("held", "An operator holds it and will let it go on, or not; there is nothing to do."),
}


@dataclass(frozen=True)
class Handled:
    """What an admin's request did: the submissions it changed, those it could not, and how many it stopped."""

    changed: list[Submission]
    skipped: list[Submission]
    missing: list[UUID]
    cancelled: int = 0


async def park(db: AsyncConnection, ids: Sequence[UUID], to: Parked, *, reason: str, by: str) -> Handled:
    """Move to DEQUEUED or ON_HOLD, with the admin's reason. A worker that is at it finds its lease gone."""
    found = await lock_by_ids(db, ids)
    moves = [_move(each, to, reason, by) for each in found.values() if to in TRANSITIONS[each.state]]
    moved = await move_all(db, moves)
    cancelled = await remove_jobs(db, [Job(each.before.id, each.before.cycle) for each in moves])
    handled = Handled(
        changed=list(moved.values()),
        skipped=[each for each in found.values() if each.id not in moved],
        missing=[each for each in ids if each not in found],
        cancelled=cancelled,
    )
    await record_handled(db, handled, WORDS[to][0], by=by, detail={"reason": reason, "cancelled": cancelled})
    return handled


async def record_handled(
    db: AsyncConnection, handled: Handled, verb: str, *, by: str, detail: Mapping[str, object] | None = None
) -> None:
    """One entry of the audit for what one request changed; none if it changed nothing."""
    ids = [str(each.id) for each in handled.changed]
    if ids:
        subject = ids[0] if len(ids) == 1 else f"{len(ids)} submissions"
        await record_audit(db, by, f"submission_{verb}", subject, {**(detail or {}), "ids": ids})


def _move(before: Submission, to: Parked, reason: str, by: str) -> Move:
    trigger, next_step = WORDS[to]
    columns = {"reason_code": trigger, "reason_message": reason, "next_step": next_step}
    return Move(before, (Step(to, trigger, {"reason": trigger, "said": reason}),), by, columns)
