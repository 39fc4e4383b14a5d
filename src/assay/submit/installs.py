"""Reports of installs, counted once per caller, skill and day; callers are stored as keyed digests."""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.rate_limit import caller_key
from assay.model.account import Caller
from assay.store.skills.installs import add_installs
from assay.store.skills.names import resolve_name
from assay.store.skills.skills import find_skills

PURPOSE = b"assay:installs"


@dataclass(frozen=True, slots=True)
class Install:
    """A reported install."""

    name: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedInstalls:
    """Counts of a report, and the names that are not live listings."""

    received: int
    counted: int
    unknown: tuple[str, ...]


def client_key(secret: str, caller: Caller, address: str) -> str:
    """Return a stable pseudonym of an account, or else of a network; it cannot be reversed without the secret.

    What a client says about itself, such as its user agent, does not count: it can say anything.
    """
    key = hmac.digest(secret.encode(), PURPOSE, "sha256")
    client = caller_key(caller, address).encode(errors="replace")
    return f"sha256:{hmac.new(key, client, hashlib.sha256).hexdigest()}"


async def record_installs(
    db: AsyncConnection,
    installs: Sequence[Install],
    *,
    client: str,
    now: datetime,
    at_most: int,
) -> RecordedInstalls:
    """Count installs, of at most `at_most` skills a day; 0 is no limit. `unknown` has unknown and ambiguous names."""
    names = {each.name: await _resolve_name(db, each.name) for each in installs}
    found = await find_skills(db, [name for name in names.values() if name is not None])
    known = [(found[name].id, each.version) for each in installs if (name := names[each.name]) in found]
    counted = await add_installs(db, known, client=client, day=now.date(), at_most=at_most)
    unknown = tuple(sorted({each.name for each in installs if names[each.name] not in found}))
    return RecordedInstalls(len(installs), counted, unknown)


async def _resolve_name(db: AsyncConnection, name: str) -> str | None:
    """Return the name of the listing, following aliases; None if it is unknown or ambiguous."""
    lowered = name.lower()
    if "\x00" in lowered:
        return None
    if await find_skills(db, [lowered]):
        return lowered
    names = await resolve_name(db, lowered)
    return names[0] if len(names) == 1 else None
