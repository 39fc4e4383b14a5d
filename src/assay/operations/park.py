"""Parking: removing submissions from the queue or holding them."""

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
# Trigger and reason code, and the next step for the author.
TEXTS = {
    State.DEQUEUED: ("dequeued", "An operator removed it from the queue. Ask them before you submit it again."),
    State.ON_HOLD: ("held", "An operator is holding it. Wait for their decision; you need not do anything."),
}


@dataclass(frozen=True)
class BulkResult:
    """The result of an operator's request; `cancelled` counts the jobs removed from the queue."""

    changed: list[Submission]
    skipped: list[Submission]
    missing: list[UUID]
    cancelled: int = 0


async def park(db: AsyncConnection, ids: Sequence[UUID], to: Parked, *, reason: str, by: str) -> BulkResult:
    """Move submissions to DEQUEUED or ON_HOLD. A worker that processes one loses its lease."""
    found = await lock_by_ids(db, ids)
    moves = [_move(each, to, reason, by) for each in found.values() if to in TRANSITIONS[each.state]]
    moved = await move_all(db, moves)
    cancelled = await remove_jobs(db, [Job(each.before.id, each.before.cycle) for each in moves])
    result = BulkResult(
        changed=list(moved.values()),
        skipped=[each for each in found.values() if each.id not in moved],
        missing=[each for each in ids if each not in found],
        cancelled=cancelled,
    )
    await audit_bulk_result(db, result, TEXTS[to][0], by=by, detail={"reason": reason, "cancelled": cancelled})
    return result


async def audit_bulk_result(
    db: AsyncConnection, result: BulkResult, verb: str, *, by: str, detail: Mapping[str, object] | None = None
) -> None:
    """Write one audit event for a request, unless it changed nothing."""
    ids = [str(each.id) for each in result.changed]
    if ids:
        subject = ids[0] if len(ids) == 1 else f"{len(ids)} submissions"
        await record_audit(db, by, f"submission_{verb}", subject, {**(detail or {}), "ids": ids})


def _move(before: Submission, to: Parked, reason: str, by: str) -> Move:
    trigger, next_step = TEXTS[to]
    columns = {"reason_code": trigger, "reason_message": reason, "next_step": next_step}
    return Move(before, (Step(to, trigger, {"reason": trigger, "said": reason}),), by, columns)
