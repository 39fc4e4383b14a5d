"""Accept reports of installs: counted once a day for a client and a skill, and without keeping who the client is."""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.skills.installs import add_installs
from assay.store.skills.names import other_names
from assay.store.skills.skills import find_skills

PURPOSE = b"assay:installs"


@dataclass(frozen=True, slots=True)
class Install:
    """A skill that somebody has installed."""

    name: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """How many reports there were, how many of them were counted, and the names that lead to no live listing."""

    received: int
    counted: int
    unknown: tuple[str, ...]


def client_of(secret: str, address: str, user_agent: str) -> str:
    """The same for the same client as long as the secret is, and nothing else: without the secret it cannot be
    guessed back.
    """
    key = hmac.digest(secret.encode(), PURPOSE, "sha256")
    said = "\n".join((address, user_agent)).encode(errors="replace")
    return f"sha256:{hmac.new(key, said, hashlib.sha256).hexdigest()}"


async def record_installs(db: AsyncConnection, installs: Sequence[Install], *, client: str, now: datetime) -> Recorded:
    """A name that leads to no live listing, or to several, is told and fails nothing."""
    named = {each.name: await _resolved(db, each.name) for each in installs}
    found = await find_skills(db, [name for name in named.values() if name is not None])
    known = [(found[name].id, each.version) for each in installs if (name := named[each.name]) in found]
    counted = await add_installs(db, known, client=client, day=now.date())
    unknown = tuple(sorted({each.name for each in installs if named[each.name] not in found}))
    return Recorded(len(installs), counted, unknown)


async def _resolved(db: AsyncConnection, name: str) -> str | None:
    """The name of the one listing that is meant."""
    wanted = name.lower()
    if "\x00" in wanted:
        return None
    if await find_skills(db, [wanted]):
        return wanted
    names = await other_names(db, wanted)
    return names[0] if len(names) == 1 else None
