"""Reordering of waiting submissions."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.job import Job
from assay.model.submission import State
from assay.operations.park import BulkResult, audit_bulk_result
from assay.store.queue.jobs import QueueEnd, reorder_jobs
from assay.store.submissions.selection import lock_by_ids, set_priority


async def reorder(db: AsyncConnection, ids: Sequence[UUID], end: QueueEnd, *, by: str) -> BulkResult:
    """Move waiting submissions, keeping their relative order; claimed ones are skipped."""
    found = await lock_by_ids(db, ids)
    waiting = {each.id: each for each in found.values() if each.state is State.RECEIVED and each.lease is None}
    if waiting:
        priority = await reorder_jobs(db, [Job(each.id, each.cycle) for each in waiting.values()], end)
        await set_priority(db, list(waiting), priority)
    result = BulkResult(
        changed=list(waiting.values()),
        skipped=[each for each in found.values() if each.id not in waiting],
        missing=[each for each in ids if each not in found],
    )
    await audit_bulk_result(db, result, f"moved_to_{end}", by=by)
    return result
