"""Work that recurs: once across all processes, each on its own clock."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from zlib import crc32

import structlog
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Unavailable
from assay.store.database import Database

log = structlog.get_logger()


@dataclass(frozen=True)
class Chore:
    """A small piece of maintenance, done in one transaction; returns how much there was to do."""

    name: str
    every_seconds: float
    work: Callable[[AsyncConnection], Awaitable[int]]


async def do_chore(database: Database, chore: Chore) -> int | None:
    """Do it once; None if another process is doing it right now."""
    async with database.begin() as db:
        lock = {"lock": crc32(chore.name.encode())}
        if not (await db.execute(text("SELECT pg_try_advisory_xact_lock(:lock)"), lock)).scalar_one():
            return None
        return await chore.work(db)


async def run_chore(database: Database, chore: Chore, stopping: asyncio.Event) -> None:
    """Do it again and again until `stopping`; an outage skips a turn and says so."""
    while not stopping.is_set():
        try:
            done = await do_chore(database, chore)
            log.debug("Chore done", chore=chore.name, amount=done)
        except Unavailable as problem:
            log.warning("Chore skipped", chore=chore.name, problem=problem.message)
        try:
            await asyncio.wait_for(stopping.wait(), chore.every_seconds)
        except TimeoutError:
            continue
