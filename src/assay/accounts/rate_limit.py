"""So much of something, in so long, for one person or one listing: counted in the transaction of what is done."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Throttled
from assay.model.source import digest_of
from assay.store.people.attempts import count_attempt, forget_old_attempts


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much of what."""

    what: str
    at_most: int
    seconds: float


async def spend(db: AsyncConnection, allowance: Allowance, who: str, now: datetime) -> None:
    """One more. Raises Throttled if that is too many; then nothing was counted, because nothing is done."""
    await forget_old_attempts(db, now)
    # Neither a name nor an address need be known to be counted.
    key = digest_of(f"{allowance.what} {who}".encode())
    number, until = await count_attempt(db, key, now + timedelta(seconds=allowance.seconds))
    if number > allowance.at_most:
        raise Throttled(
            f"Only {allowance.at_most} {allowance.what} in {timedelta(seconds=allowance.seconds)}; try again later.",
            retry_after_seconds=max(1.0, (until - now).total_seconds()),
        )
