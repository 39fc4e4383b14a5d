"""Rate limits: how often an account, a token or an address may do something in a window of time.

Counters are stored under digests, so that no login, name or address is.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.account import INTERNAL_KEY, Caller
from assay.model.errors import Throttled
from assay.model.quota import Quota
from assay.model.source import digest_of
from assay.store.database.database import Database
from assay.store.people.rate_counters import Charge, Window, charge, read_windows

WINDOW_SECONDS = 15 * 60
PERIODS = {60: "minute", 900: "15 minutes", 3_600: "hour", 86_400: "day"}
IPV6_PREFIX = 64


@dataclass(frozen=True, slots=True)
class RateLimit:
    """At most `at_most` actions in `seconds`, or any number if it is 0.

    `what` names the action in messages and in the stored key; `hint` says how to get a higher limit.
    """

    what: str
    at_most: int
    seconds: float
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Spending:
    """An amount that counts against the limit of `who`, a caller as `caller_key` names it or any other subject."""

    limit: RateLimit
    who: str
    amount: int = 1

    @property
    def key(self) -> str:
        return digest_of(f"{self.limit.what} {self.who}".encode(errors="replace"))


@dataclass(frozen=True, slots=True)
class SignInLimits:
    """Attempts per window: with one login from one address, and with any login from one address; 0 is no limit."""

    per_login: int
    per_address: int


def caller_key(caller: Caller, address: str = "") -> str:
    """Return who is limited: an account with all its sessions and tokens, the internal key, or a network."""
    if caller.account_id is not None:
        return f"account {caller.account_id}"
    return INTERNAL_KEY.name if caller == INTERNAL_KEY else f"address {network_of(address)}"


async def spend(store: Database, spendings: Sequence[Spending], now: datetime) -> list[Quota]:
    """Count in a transaction of its own, before the work: a request that fails has still been counted.

    Raises Throttled and counts nothing if one of the limits would be exceeded. Returns what is left of each.
    """
    limited = [each for each in spendings if each.limit.at_most and each.amount]
    if not limited:
        return []
    async with store.begin() as db:
        return await _spend(db, limited, now, is_alone=True)


async def enforce_rate_limit(db: AsyncConnection, limit: RateLimit, who: str, now: datetime) -> None:
    """Count one action in the transaction of that action. Raises Throttled over the limit; the rollback uncounts it."""
    if limit.at_most:
        await _spend(db, [Spending(limit, who)], now)


async def read_quotas(db: AsyncConnection, spendings: Sequence[Spending], now: datetime) -> list[Quota | None]:
    """Return what is left of each limit, in their order; None if it is off."""
    windows = await read_windows(db, [each.key for each in spendings], now)
    return [_quota(each.limit, windows.get(each.key), now) if each.limit.at_most else None for each in spendings]


async def throttle_sign_in(store: Database, login: str, address: str, limits: SignInLimits, now: datetime) -> None:
    """Count an attempt and raise Throttled over a limit.

    Commits the count before the password is checked, so that concurrent attempts all count.
    """
    at_most = {sign_in_key(login, address): limits.per_login, sign_in_key("", address): limits.per_address}
    end = now + timedelta(seconds=WINDOW_SECONDS)
    charges = [Charge(key, 1, number, end) for key, number in at_most.items() if number]
    if not charges:
        return
    async with store.begin() as db:
        counted = await charge(db, charges, now, is_alone=True)
        if len(counted) < len(charges):
            windows = await read_windows(db, at_most.keys() - counted.keys(), now)
            wait = max((window.until for window in windows.values()), default=end) - now
            message = "Too many attempts to sign in. Try again later."
            raise Throttled(message, retry_after_seconds=wait.total_seconds())


def sign_in_key(login: str, address: str) -> str:
    """Return the key of the counter for a login at an address, or for an address if the login is empty."""
    return digest_of(f"{login.lower()} {network_of(address)}".encode(errors="replace"))


def network_of(address: str) -> str:
    """Return the /64 network of an IPv6 address, because one machine can use all of its addresses.

    An IPv4 address that is mapped to IPv6 is returned as IPv4.
    """
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address)
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(parsed), IPV6_PREFIX), strict=False))


async def _spend(
    db: AsyncConnection, spendings: Sequence[Spending], now: datetime, *, is_alone: bool = False
) -> list[Quota]:
    charges = [
        Charge(each.key, each.amount, each.limit.at_most, now + timedelta(seconds=each.limit.seconds))
        for each in spendings
    ]
    counted = await charge(db, charges, now, is_alone=is_alone)
    refused = [each for each in spendings if each.key not in counted]
    if refused:
        windows = await read_windows(db, [each.key for each in refused], now)
        raise max((_throttled(each, windows.get(each.key), now) for each in refused), key=_wait)
    return [_quota(each.limit, counted[each.key], now) for each in spendings]


def _quota(limit: RateLimit, window: Window | None, now: datetime) -> Quota:
    if window is None:
        return Quota(limit.at_most, limit.at_most, now + timedelta(seconds=limit.seconds))
    return Quota(limit.at_most, max(0, limit.at_most - window.used), window.until)


def _throttled(spending: Spending, window: Window | None, now: datetime) -> Throttled:
    limit, quota = spending.limit, _quota(spending.limit, window, now)
    rule = f"The limit is {limit.at_most:,} {limit.what} per {PERIODS.get(int(limit.seconds), f'{limit.seconds:g} s')}"
    reset = f"{quota.resets_at:%Y-%m-%d %H:%M:%S} UTC"
    if spending.amount > limit.at_most:
        message = f"{rule}, and this request has {spending.amount:,}. Split it, or ask the operator for a higher limit."
    elif spending.amount > 1:
        message = f"{rule}. {quota.remaining:,} are left until {reset}, and this request has {spending.amount:,}."
    else:
        message = f"{rule}. None are left until {reset}."
    return Throttled(
        f"{message} {limit.hint}".rstrip(),
        retry_after_seconds=max(1.0, (quota.resets_at - now).total_seconds()),
        quota=quota,
    )


def _wait(error: Throttled) -> float:
    return error.retry_after_seconds
