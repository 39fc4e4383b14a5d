"""Fair queueing: callers take turns, so that none waits for more than its share of another one's submissions.

Each job has a turn, and the jobs of one priority are claimed by turn (see `jobs.py`). A caller's jobs get consecutive
turns, from the virtual time or from its last turn, whichever is later. The virtual time is the turn that the queue has
reached: that of the first job that waits for its first attempt, or the last turn of all if none does. It never goes
back.
"""

from datetime import timedelta

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.job import ENTRYPOINT
from assay.model.source import digest_of

# The lower bits of a job's id keep the jobs of one turn in the order of their arrival, and apart.
TURN_BITS = 26
# Jobs that are retried keep their old turns. Only as many as this hold the virtual time back, as when a rate limit of
# GitHub delays them all.
MANY_RETRIED = 100
# A share is kept for at least as long; after that, until the virtual time has passed its last turn.
KEPT_FOR = timedelta(days=1)

VIRTUAL_TIME = f"""
    head AS MATERIALIZED (
        SELECT id >> {TURN_BITS} AS turn, attempts FROM pgqueuer
        WHERE entrypoint = :entrypoint AND status = 'queued' AND priority = 0 ORDER BY id LIMIT {MANY_RETRIED}
    ), reached AS MATERIALIZED (
        SELECT greatest(
            (SELECT max(virtual_time) FROM queue_share),
            coalesce(
                (SELECT min(turn) FROM head WHERE attempts = 0),
                (SELECT min(turn) FROM head HAVING count(*) = {MANY_RETRIED}),
                (SELECT max(turn) FROM queue_share)
            ),
            0
        ) AS turn
    )
"""
READ = text(f"WITH {VIRTUAL_TIME} SELECT turn FROM reached")
TAKE = text(
    f"""
    WITH {VIRTUAL_TIME}
    INSERT INTO queue_share AS share (key, turn, virtual_time)
    SELECT :key, turn + :number, turn FROM reached
    ON CONFLICT (key) DO UPDATE SET
        turn = greatest(share.turn, excluded.virtual_time) + :number,
        virtual_time = greatest(share.virtual_time, excluded.virtual_time),
        updated_at = now()
    RETURNING turn - :number
    """
)
# The share with the latest virtual time has a later turn, so it stays.
FORGET = text(
    """
    DELETE FROM queue_share WHERE key IN (
        SELECT key FROM queue_share
        WHERE updated_at < now() - make_interval(secs => :seconds)
            AND turn <= (SELECT max(virtual_time) FROM queue_share)
        ORDER BY updated_at LIMIT :at_most
    )
    """
)


async def take_turns(db: AsyncConnection, share: str, number: int) -> int:
    """Return the first of `number` consecutive turns. Other transactions wait for the share until this one ends.

    Take them after all other locks: then the wait is short, and it cannot deadlock.
    """
    params = {"entrypoint": ENTRYPOINT, "key": digest_of(share.encode(errors="replace")), "number": number}
    first: int = (await db.execute(TAKE, params)).scalar_one()
    return first


async def read_virtual_time(db: AsyncConnection) -> int:
    """Return the turn that the queue has reached."""
    turn: int = (await db.execute(READ, {"entrypoint": ENTRYPOINT})).scalar_one()
    return turn


async def forget_old_shares(db: AsyncConnection, at_most: int) -> int:
    """Delete shares that no longer matter, and return their number."""
    return (await db.execute(FORGET, {"seconds": KEPT_FOR.total_seconds(), "at_most": at_most})).rowcount
