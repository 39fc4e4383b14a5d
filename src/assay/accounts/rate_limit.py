"""Rate limits: on sign-in attempts, and on other actions per account, address or listing.

Counters are stored under digests, so that no login, name or address is.
"""

import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Throttled
from assay.model.source import digest_of
from assay.store.database.database import Database
from assay.store.people.attempts import count_attempt, delete_old_attempts

# Limits on sign-in attempts in a window: for one login from one address, and for one address.
WINDOW_SECONDS = 15 * 60
MAX_PER_LOGIN, MAX_PER_ADDRESS = 5, 50


@dataclass(frozen=True, slots=True)
class RateLimit:
    """At most `at_most` actions in `seconds`; `what` names the action in messages and in the stored key."""

    what: str
    at_most: int
    seconds: float


async def enforce_rate_limit(db: AsyncConnection, limit: RateLimit, who: str, now: datetime) -> None:
    """Count one action in the transaction of that action. Raises Throttled over the limit; the rollback uncounts it."""
    await delete_old_attempts(db, now)
    key = digest_of(f"{limit.what} {who}".encode())
    number, until = await count_attempt(db, key, now + timedelta(seconds=limit.seconds))
    if number > limit.at_most:
        raise Throttled(
            f"Rate limit reached: at most {limit.at_most} {limit.what} in {limit.seconds / 3600:g} h. Try again later.",
            retry_after_seconds=max(1.0, (until - now).total_seconds()),
        )


async def throttle_sign_in(store: Database, login: str, address: str, now: datetime) -> None:
    """Count an attempt and raise Throttled over a limit.

    Commits the count before the password is checked, so that concurrent attempts all count.
    """
    limits = {sign_in_key(login, address): MAX_PER_LOGIN, sign_in_key("", address): MAX_PER_ADDRESS}
    end = now + timedelta(seconds=WINDOW_SECONDS)
    async with store.begin() as db:
        await delete_old_attempts(db, now)
        counted = {key: await count_attempt(db, key, end) for key in limits}
    waits = [until - now for key, (attempts, until) in counted.items() if attempts > limits[key]]
    if waits:
        raise Throttled(
            "Too many attempts to sign in. Try again later.", retry_after_seconds=max(waits).total_seconds()
        )


def sign_in_key(login: str, address: str) -> str:
    """Return the key of the counter for a login at an address, or for an address if the login is empty."""
    return digest_of(f"{login.lower()} {network_of(address)}".encode())


def network_of(address: str) -> str:
    """Return the /64 network of an IPv6 address, because one machine can use all of its addresses."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address
