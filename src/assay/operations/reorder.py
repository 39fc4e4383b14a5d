"""Move waiting submissions to the front or the back of the queue."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.job import Job
from assay.model.submission import State
from assay.operations.park import Handled, record_handled
from assay.store.queue.jobs import Place, reorder_jobs
from assay.store.submissions.selection import lock_by_ids, set_priority


async def reorder(db: AsyncConnection, ids: Sequence[UUID], place: Place, *, by: str) -> Handled:
    """They keep their order among themselves; what a worker already has is left as it is."""
    found = await lock_by_ids(db, ids)
    waiting = {each.id: each for each in found.values() if each.state is State.RECEIVED and each.lease is None}
    if waiting:
        priority = await reorder_jobs(db, [Job(each.id, each.cycle) for each in waiting.values()], place)
        await set_priority(db, list(waiting), priority)
    handled = Handled(
        changed=list(waiting.values()),
        skipped=[each for each in found.values() if each.id not in waiting],
        missing=[each for each in ids if each not in found],
    )
    await record_handled(db, handled, f"moved_to_{place}", by=by)
    return handled
