"""A process says that it is there, every few seconds, and that it leaves."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import structlog

from assay import __version__
from assay.model.errors import Unavailable
from assay.model.ids import new_id
from assay.store.database.database import Database
from assay.store.operations.processes import ProcessRow, remove_process, write_process

log = structlog.get_logger()
EVERY_SECONDS = 10


@asynccontextmanager
async def heartbeat(
    store: Database,
    kind: str,
    in_flight: Callable[[], int] = lambda: 0,
    *,
    ruleset: str | None = None,
    every_seconds: float = EVERY_SECONDS,
) -> AsyncIterator[None]:
    """Seen from the beginning of the block until its end; a process that is killed is missed soon after. Who works by
    rules says by which: all must have the same.
    """
    number, host = new_id(), socket.gethostname()

    def me() -> ProcessRow:
        return ProcessRow(number, kind, host, os.getpid(), __version__, in_flight(), ruleset)

    # Once before anything else, so that nobody misses a process that has begun to work.
    await _write(store, me())
    beating = asyncio.create_task(_beat(store, me, every_seconds))
    try:
        yield
    finally:
        beating.cancel()
        await asyncio.wait({beating})
        await _say_goodbye(store, me())


async def _beat(store: Database, me: Callable[[], ProcessRow], every_seconds: float) -> None:
    is_silent = False
    while True:
        problem = await _write(store, me())
        if problem is not None and not is_silent:
            log.warning("The heartbeat of this process cannot be written", problem=problem)
        if problem is None and is_silent:
            log.info("The heartbeat of this process is written again")
        is_silent = problem is not None
        await asyncio.sleep(every_seconds)


async def _write(store: Database, row: ProcessRow) -> str | None:
    """What is wrong, if it could not be written; the process goes on either way."""
    try:
        async with store.begin() as db:
            await write_process(db, row)
    except Exception as problem:  # noqa: BLE001 - told by the caller, once
        return repr(problem)
    return None


async def _say_goodbye(store: Database, row: ProcessRow) -> None:
    try:
        async with store.begin() as db:
            await remove_process(db, row.id)
    except Unavailable as problem:
        log.info("This process could not say that it leaves", problem=problem.message)
