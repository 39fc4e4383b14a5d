"""Guessing passwords takes long: attempts are counted for a login at an address, and for an address."""

import hashlib
import ipaddress
from datetime import datetime, timedelta

from assay.model.errors import Throttled
from assay.store.database.database import Database
from assay.store.people.attempts import count_attempt, forget_old_attempts

WINDOW_SECONDS = 15 * 60
AT_MOST_FOR_A_LOGIN, AT_MOST = 5, 50


async def count_sign_in(store: Database, login: str, address: str, now: datetime) -> None:
    """Raises Throttled if there were too many. Counted before anything is tried, so that many at once are not one."""
    limits = {attempt_key(login, address): AT_MOST_FOR_A_LOGIN, attempt_key("", address): AT_MOST}
    end = now + timedelta(seconds=WINDOW_SECONDS)
    async with store.begin() as db:
        await forget_old_attempts(db, now)
        counted = {key: await count_attempt(db, key, end) for key in limits}
    waits = [until - now for key, (attempts, until) in counted.items() if attempts > limits[key]]
    if waits:
        raise Throttled("Too many attempts to sign in.", retry_after_seconds=max(waits).total_seconds())


def attempt_key(login: str, address: str) -> str:
    """Whose attempts are counted together; a digest, because neither need be known to count."""
    return f"sha256:{hashlib.sha256(f'{login.lower()} {network_of(address)}'.encode()).hexdigest()}"


def network_of(address: str) -> str:
    """One machine can have all addresses of an IPv6 network."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address
