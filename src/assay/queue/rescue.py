"""Rescue of held jobs and orphaned submissions."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.job import Job, decode_job
from assay.store.operations.periodic_jobs import read_position, save_position
from assay.store.queue.held_jobs import (
    HeldJob,
    drop_held_jobs,
    find_keys_in_use,
    lock_active_cycles,
    lock_held_jobs,
    quarantine_jobs,
    requeue_held_jobs,
)
from assay.store.queue.jobs import enqueue
from assay.store.queue.orphans import OrphanCursor, OrphanWindow, find_orphans, find_window_end, lock_orphans

log = structlog.get_logger()
BATCH_SIZE = 1_000
RESCUE_ORPHANS = "rescue orphans"
# A job and its submission commit together; no transaction takes this long.
GRACE = timedelta(seconds=60)
WINDOW_SIZE = 20_000
MAX_LOGGED_IDS = 10
START: OrphanCursor = (datetime(1970, 1, 1, tzinfo=UTC), UUID(int=0))


async def rescue_held_jobs(db: AsyncConnection) -> int:
    """Requeue jobs that the queue holds as failed; return their number.

    Handlers always return an outcome, so a job is held only if the database went down while the outcome was written.
    Unreadable jobs are quarantined; jobs that are over or enqueued again are dropped.
    """
    held = await lock_held_jobs(db, BATCH_SIZE)
    jobs = {each.id: job for each in held if (job := _decode(each))}
    if unreadable := [each.id for each in held if each.id not in jobs]:
        log.error("Quarantined unreadable jobs", job_ids=unreadable[:MAX_LOGGED_IDS], number=len(unreadable))
        await quarantine_jobs(db, unreadable)
    active, locked = await lock_active_cycles(db, [job.subject_id for job in jobs.values()])
    in_use = await find_keys_in_use(db, [job.key for job in jobs.values()])
    requeued: dict[str, int] = {}
    dropped = []
    for job_id, job in jobs.items():
        cycle = (job.subject_id, job.cycle)
        if cycle not in active or job.key in in_use or job.key in requeued:
            dropped.append(job_id)
        elif cycle in locked:
            requeued[job.key] = job_id
    await drop_held_jobs(db, dropped)
    await requeue_held_jobs(db, list(requeued.values()))
    if requeued or dropped:
        log.warning("Rescued held jobs", requeued=len(requeued), dropped=len(dropped))
    return len(requeued)


async def rescue_orphans(db: AsyncConnection, now: Callable[[], datetime], window_size: int = WINDOW_SIZE) -> int:
    """Enqueue orphans in the next window of the backlog; return their number."""
    moment = now()
    before = moment - GRACE
    window = OrphanWindow(_parse_cursor(await read_position(db, RESCUE_ORPHANS)), before, moment, window_size)
    found = await find_orphans(db, window)
    ids = [each.id for each in found[:BATCH_SIZE]]
    orphans = await lock_orphans(db, ids, before=before, now=moment) if found else []
    if orphans:
        logged = [str(submission_id) for submission_id, _, _ in orphans[:MAX_LOGGED_IDS]]
        log.error("Enqueued submissions that had no job", submission_ids=logged, number=len(orphans))
        jobs = [Job(submission_id, cycle) for submission_id, cycle, _ in orphans]
        await enqueue(db, jobs, [priority for _, _, priority in orphans])
    if len(found) <= BATCH_SIZE:
        await save_position(db, RESCUE_ORPHANS, _format_cursor(await find_window_end(db, window)))
    return len(orphans)


def _decode(held: HeldJob) -> Job | None:
    try:
        job = decode_job(held.payload or b"")
    except msgspec.MsgspecError:
        return None
    return job if job.key == held.key else None


def _parse_cursor(stored: str | None) -> OrphanCursor:
    if stored is None:
        return START
    moment, _, submission_id = stored.partition(" ")
    return datetime.fromisoformat(moment), UUID(submission_id)


def _format_cursor(cursor: OrphanCursor | None) -> str | None:
    return f"{cursor[0].isoformat()} {cursor[1]}" if cursor else None
