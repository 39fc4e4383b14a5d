"""Heartbeats of processes."""

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
    """Register this process for the duration of the block. Failed writes are logged and do not end the process.

    Processes that scan pass their `ruleset`; an alarm reports processes with different ones.
    """
    process_id, host = new_id(), socket.gethostname()

    def row() -> ProcessRow:
        return ProcessRow(process_id, kind, host, os.getpid(), __version__, in_flight(), ruleset)

    # Register before any work starts.
    await _write(store, row())
    beating = asyncio.create_task(_beat(store, row, every_seconds))
    try:
        yield
    finally:
        beating.cancel()
        await asyncio.wait({beating})
        await _deregister(store, row())


async def _beat(store: Database, row: Callable[[], ProcessRow], every_seconds: float) -> None:
    is_failing = False
    while True:
        error = await _write(store, row())
        if error is not None and not is_failing:
            log.warning("Failed to write heartbeat", error=error)
        if error is None and is_failing:
            log.info("Heartbeat written again")
        is_failing = error is not None
        await asyncio.sleep(every_seconds)


async def _write(store: Database, row: ProcessRow) -> str | None:
    """Return the error if the write failed."""
    try:
        async with store.begin() as db:
            await write_process(db, row)
    except Exception as error:  # noqa: BLE001 - logged once by the caller
        return repr(error)
    return None


async def _deregister(store: Database, row: ProcessRow) -> None:
    try:
        async with store.begin() as db:
            await remove_process(db, row.id)
    except Unavailable as error:
        log.info("Failed to deregister process", error=error.message)
