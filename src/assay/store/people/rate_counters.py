"""Counters of rate limits: how often something was done in a time window, by a digest of who did it."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.tables import sign_in_attempt

# A counter without a row has room for any amount up to its limit; other counters are compared under their row lock.
CHARGE = """
    INSERT INTO sign_in_attempt AS counter (key, attempts, until)
    SELECT key, amount, until FROM unnest(
        CAST(:keys AS text[]), CAST(:amounts AS bigint[]), CAST(:limits AS bigint[]), CAST(:ends AS timestamptz[])
    ) AS charge (key, amount, at_most, until) {more}
    WHERE amount <= at_most
    ON CONFLICT (key) DO UPDATE SET
        attempts = excluded.attempts + CASE WHEN counter.until <= :now THEN 0 ELSE counter.attempts END,
        until = CASE WHEN counter.until <= :now THEN excluded.until ELSE counter.until END
    WHERE counter.until <= :now
        OR counter.attempts + excluded.attempts <= CAST(CAST(:limit_by_key AS jsonb) ->> counter.key AS bigint)
    RETURNING key, attempts, until
"""
CHARGE_WITH_OTHERS = text(CHARGE.format(more=""))
# The commit does not wait for the disk: a crash may lose the last counts.
CHARGE_ALONE = text(CHARGE.format(more=", (SELECT set_config('synchronous_commit', 'off', true)) AS committing"))


@dataclass(frozen=True, slots=True)
class Charge:
    """An amount to add to a counter, unless that exceeds the limit. A new window ends at `until`."""

    key: str
    amount: int
    limit: int
    until: datetime


@dataclass(frozen=True, slots=True)
class Window:
    """The amount counted in a window, and its end."""

    used: int
    until: datetime


async def charge(
    db: AsyncConnection, charges: Sequence[Charge], now: datetime, *, is_alone: bool = False
) -> dict[str, Window]:
    """Add to counters with different keys, in one statement; those that would exceed their limits are left out.

    The counters are locked in the order of their keys until the transaction ends. `is_alone`: it does nothing else, and
    its commit need not be durable.
    """
    ordered = sorted(charges, key=lambda each: each.key)
    columns = {
        "keys": [each.key for each in ordered],
        "amounts": [each.amount for each in ordered],
        "limits": [each.limit for each in ordered],
        "ends": [each.until for each in ordered],
        "limit_by_key": json.dumps({each.key: each.limit for each in ordered}),
        "now": now,
    }
    rows = await db.execute(CHARGE_ALONE if is_alone else CHARGE_WITH_OTHERS, columns)
    return {key: Window(used, until) for key, used, until in rows}


async def read_windows(db: AsyncConnection, keys: Collection[str], now: datetime) -> dict[str, Window]:
    """Return the windows that have not ended."""
    counter = sign_in_attempt.c
    statement = select(counter.key, counter.attempts, counter.until).where(counter.key.in_(keys), counter.until > now)
    return {key: Window(used, until) for key, used, until in await db.execute(statement)}


async def reset_counter(db: AsyncConnection, key: str) -> None:
    await db.execute(delete(sign_in_attempt).where(sign_in_attempt.c.key == key))
