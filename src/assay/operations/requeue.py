"""Give submissions back to the queue for a new look: some by id, or many by what they have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.job import Job
from assay.model.submission import State, Submission
from assay.operations.park import Handled, record_handled
from assay.store.operations.audit import record_audit
from assay.store.queue.enqueue import enqueue
from assay.store.submissions.selection import COUNT_AT_MOST, Selection, count_selected, lock_by_ids, lock_selected
from assay.store.submissions.transitions import Reopening, reopen_all

# What is blocked is let go by unblocking it, which is another decision.
REQUEUEABLE = frozenset(
    {
        State.PUBLISHED,
        State.NEEDS_REVIEW,
        State.TIER1_FAILED,
        State.REJECTED,
        State.FAILED,
        State.DEQUEUED,
        State.ON_HOLD,
    }
)
# A second look in bulk must not make those wait who submit now.
BEHIND_NEW_ONES = -10


@dataclass(frozen=True)
class Reprocessed:
    """How many matched before, by state; how many were given back now; how many are left."""

    matched: Mapping[State, int]
    is_exact: bool
    requeued: int

    @property
    def remaining(self) -> int:
        """How many are still to be done."""
        return sum(self.matched.values()) - self.requeued


async def requeue(db: AsyncConnection, ids: Sequence[UUID], *, by: str, reason: str) -> Handled:
    """A new cycle for each, in the place of a new submission; what is active or blocked is left as it is."""
    found = await lock_by_ids(db, ids)
    chosen = [each for each in found.values() if each.state in REQUEUEABLE]
    reopened = await give_back(db, chosen, by=by, reason=reason)
    handled = Handled(
        changed=reopened,
        skipped=[each for each in found.values() if each.state not in REQUEUEABLE],
        missing=[each for each in ids if each not in found],
    )
    await record_handled(db, handled, "requeued", by=by, detail={"reason": reason})
    return handled


async def requeue_quietly(db: AsyncConnection, ids: Sequence[UUID], *, by: str, reason: str) -> list[Submission]:
    """A new cycle for each, behind what is new: nobody asked for it, so nobody waits for it."""
    found = await lock_by_ids(db, ids)
    chosen = [each for each in found.values() if each.state in REQUEUEABLE]
    return await give_back(db, chosen, by=by, reason=reason, priority=BEHIND_NEW_ONES) if chosen else []


async def reprocess(
    db: AsyncConnection, selection: Selection, *, limit: int, dry_run: bool, by: str, reason: str
) -> Reprocessed:
    """Count what matches and give back at most `limit` of it, behind what is new; a dry run only counts."""
    matched = await count_selected(db, selection)
    requeued = 0
    if not dry_run:
        chosen = await lock_selected(db, selection, limit)
        requeued = len(await give_back(db, chosen, by=by, reason=reason, priority=BEHIND_NEW_ONES))
        detail = {"reason": reason, "states": sorted(selection.states), "requeued": requeued}
        await record_audit(db, by, "queue_reprocessed", "submissions", detail)
    return Reprocessed(matched, sum(matched.values()) < COUNT_AT_MOST, requeued)


async def give_back(
    db: AsyncConnection,
    chosen: Sequence[Submission],
    *,
    by: str,
    reason: str,
    priority: int = 0,
    trigger: str = "requeued",
) -> list[Submission]:
    """Reopen what is locked and may be reopened, with its jobs."""
    reopenings = [
        Reopening(each, each.upload_digest, by, trigger, {"said": reason}, priority=priority) for each in chosen
    ]
    reopened = list((await reopen_all(db, reopenings)).values())
    await enqueue(db, [Job(each.id, each.cycle) for each in reopened], [priority] * len(reopened))
    return reopened
