"""Notices of PostgreSQL: heard at once while the connection lives, and lost while it does not.

So nobody may depend on a notice alone: after every connection the listener is told to look for itself.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NoReturn

import asyncpg
import structlog

from assay.store.database.database import is_outage

log = structlog.get_logger()
CHANGE, SERIAL = "assay_change", "assay_serial"
APPLICATION = "assay listener"
CONNECT_SECONDS, PAUSE_SECONDS = 10, 0.5
# A connection that is dead on the other side says nothing, exactly like one on which nothing happens.
CHECK_SECONDS = 30


async def hear_notices(url: str, connected: Callable[[], None], heard: Callable[[str, str], None]) -> NoReturn:
    """Call `heard` with channel and payload of every notice, and `connected` whenever some may have been missed.

    Never returns: the connection is opened again as often as it is lost. Cancelling closes it.
    """
    is_away = False
    while True:
        try:
            async with _connection(url) as connection:
                is_away = False
                await _hear(connection, connected, heard)
        except Exception as problem:
            if not (is_outage(problem) or isinstance(problem, asyncpg.InterfaceError)):
                raise
            if not is_away:
                log.warning("Notices of the database are not heard; connecting again", problem=repr(problem))
            is_away = True
        await asyncio.sleep(PAUSE_SECONDS)


@asynccontextmanager
async def _connection(url: str) -> AsyncIterator[asyncpg.Connection]:
    settings = {"application_name": APPLICATION}
    connection = await asyncpg.connect(url, timeout=CONNECT_SECONDS, server_settings=settings)
    try:
        yield connection
    finally:
        connection.terminate()


async def _hear(
    connection: asyncpg.Connection, connected: Callable[[], None], heard: Callable[[str, str], None]
) -> None:
    """Until the connection is lost."""
    lost = asyncio.Event()
    connection.add_termination_listener(lambda _connection: lost.set())
    for channel in (CHANGE, SERIAL):
        await connection.add_listener(channel, lambda _connection, _pid, name, payload: heard(name, payload))
    connected()
    while not await _is_set(lost, CHECK_SECONDS):
        await connection.execute("SELECT 1", timeout=CONNECT_SECONDS)
    raise ConnectionResetError("The connection was lost.")


async def _is_set(event: asyncio.Event, seconds: float) -> bool:
    """Whether it is set within this time."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False
