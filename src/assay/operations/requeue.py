"""Requeue submissions by id or by filter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.job import Job
from assay.model.submission import State, Submission
from assay.operations.park import BulkResult, audit_bulk_result
from assay.store.operations.audit import record_audit
from assay.store.queue.jobs import enqueue
from assay.store.submissions.selection import COUNT_AT_MOST, Selection, count_selected, lock_by_ids, lock_selected
from assay.store.submissions.transitions import Reopening, reopen_all

# Blocked submissions are requeued by unblocking.
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
# Priority behind new submissions, so that bulk requeuing does not delay them.
BEHIND_NEW = -10
# Those that are queued like new submissions take turns with them.
SHARE = "maintenance"


@dataclass(frozen=True)
class Reprocessed:
    """The number of matches before, by state, and the number requeued now."""

    matched: Mapping[State, int]
    is_exact: bool
    requeued: int

    @property
    def remaining(self) -> int:
        return sum(self.matched.values()) - self.requeued


async def requeue(db: AsyncConnection, ids: Sequence[UUID], *, by: str, reason: str) -> BulkResult:
    """Start a new cycle for each, queued like a new submission. Active and blocked submissions are skipped."""
    found = await lock_by_ids(db, ids)
    chosen = [each for each in found.values() if each.state in REQUEUEABLE]
    reopened = await reopen_and_enqueue(db, chosen, by=by, reason=reason)
    result = BulkResult(
        changed=reopened,
        skipped=[each for each in found.values() if each.state not in REQUEUEABLE],
        missing=[each for each in ids if each not in found],
    )
    await audit_bulk_result(db, result, "requeued", by=by, detail={"reason": reason})
    return result


async def requeue_behind_new(db: AsyncConnection, ids: Sequence[UUID], *, by: str, reason: str) -> list[Submission]:
    """Start a new cycle for each, queued behind new submissions, without an audit event."""
    found = await lock_by_ids(db, ids)
    chosen = [each for each in found.values() if each.state in REQUEUEABLE]
    return await reopen_and_enqueue(db, chosen, by=by, reason=reason, priority=BEHIND_NEW) if chosen else []


async def reprocess(
    db: AsyncConnection, selection: Selection, *, limit: int, dry_run: bool, by: str, reason: str
) -> Reprocessed:
    """Count the matches and requeue at most `limit` of them behind new submissions; a dry run only counts."""
    matched = await count_selected(db, selection)
    requeued = 0
    if not dry_run:
        chosen = await lock_selected(db, selection, limit)
        requeued = len(await reopen_and_enqueue(db, chosen, by=by, reason=reason, priority=BEHIND_NEW))
        detail = {"reason": reason, "states": sorted(selection.states), "requeued": requeued}
        await record_audit(db, by, "queue_reprocessed", "submissions", detail)
    return Reprocessed(matched, sum(matched.values()) < COUNT_AT_MOST, requeued)


async def reopen_and_enqueue(
    db: AsyncConnection,
    chosen: Sequence[Submission],
    *,
    by: str,
    reason: str,
    priority: int = 0,
    trigger: str = "requeued",
) -> list[Submission]:
    """Reopen locked submissions and enqueue their jobs."""
    reopenings = [
        Reopening(each, each.upload_digest, by, trigger, {"said": reason}, priority=priority) for each in chosen
    ]
    reopened = list((await reopen_all(db, reopenings)).values())
    share = None if priority == BEHIND_NEW else SHARE
    await enqueue(db, [Job(each.id, each.cycle) for each in reopened], [priority] * len(reopened), share=share)
    return reopened
