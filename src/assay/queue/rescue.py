"""Give back to the queue what an accident took out of it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.job import Job, decode_job
from assay.store.operations.periodic_jobs import read_position, save_position
from assay.store.queue.enqueue import enqueue
from assay.store.queue.held_jobs import (
    HeldJob,
    drop_held_jobs,
    give_back,
    lock_active_rounds,
    lock_held_jobs,
    set_aside,
    taken_keys,
)
from assay.store.queue.orphans import Position, Window, end_of, find_orphans, lock_orphans

log = structlog.get_logger()
AT_MOST = 1_000
RESCUE_ORPHANS = "rescue orphans"
# A job and its submission are written together, so a minute is more than any transaction needs.
GRACE = timedelta(seconds=60)
LOOKED_AT = 20_000
SHOWN = 10
BEGINNING: Position = (datetime(1970, 1, 1, tzinfo=UTC), UUID(int=0))


async def rescue_held_jobs(db: AsyncConnection) -> int:
    """Give back what the queue holds as failed; returns how many jobs are waiting again.

    A handler always says what becomes of a job, so a held one is an accident: the database went away while the
    outcome was being written. What cannot be read is set aside; what is over, or queued again, is dropped.
    """
    held = await lock_held_jobs(db, AT_MOST)
    jobs = {each.id: job for each in held if (job := _readable(each))}
    if unreadable := [each.id for each in held if each.id not in jobs]:
        log.error("Jobs that cannot be read were set aside", job_ids=unreadable[:SHOWN], number=len(unreadable))
        await set_aside(db, unreadable)
    under_way, locked = await lock_active_rounds(db, [job.subject_id for job in jobs.values()])
    taken = await taken_keys(db, [job.key for job in jobs.values()])
    again: dict[str, int] = {}
    dropped = []
    for number, job in jobs.items():
        this_round = (job.subject_id, job.cycle)
        if this_round not in under_way or job.key in taken or job.key in again:
            dropped.append(number)
        elif this_round in locked:
            again[job.key] = number
    await drop_held_jobs(db, dropped)
    await give_back(db, list(again.values()))
    if again or dropped:
        log.warning("Held jobs were given back", given_back=len(again), dropped=len(dropped))
    return len(again)


async def rescue_orphans(db: AsyncConnection, now: Callable[[], datetime], looked_at: int = LOOKED_AT) -> int:
    """Enqueue active submissions that have no job, some of the backlog each time; returns how many there were."""
    moment = now()
    before = moment - GRACE
    window = Window(_position(await read_position(db, RESCUE_ORPHANS)), before, moment, looked_at)
    found = await find_orphans(db, window)
    lost = await lock_orphans(db, [each.id for each in found[:AT_MOST]], before=before, now=moment) if found else []
    if lost:
        ids = [str(number) for number, _, _ in lost[:SHOWN]]
        log.error("Submissions without a job were enqueued again", submission_ids=ids, number=len(lost))
        jobs = [Job(number, cycle) for number, cycle, _ in lost]
        await enqueue(db, jobs, [priority for _, _, priority in lost])
    if len(found) <= AT_MOST:
        await save_position(db, RESCUE_ORPHANS, _written(await end_of(db, window)))
    return len(lost)


def _readable(held: HeldJob) -> Job | None:
    try:
        job = decode_job(held.payload or b"")
    except msgspec.MsgspecError:
        return None
    return job if job.key == held.key else None


def _position(written: str | None) -> Position:
    if written is None:
        return BEGINNING
    moment, _, number = written.partition(" ")
    return datetime.fromisoformat(moment), UUID(number)


def _written(position: Position | None) -> str | None:
    return f"{position[0].isoformat()} {position[1]}" if position else None
