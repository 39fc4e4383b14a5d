"""Notifications of PostgreSQL (LISTEN/NOTIFY). They are lost while the connection is down.

Subscribers therefore must not depend on a notification alone: `on_connected` tells them to catch up.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NoReturn

import asyncpg
import structlog

from assay.concurrency import wait_or_stop
from assay.store.database.database import is_outage

log = structlog.get_logger()
CHANGE, SERIAL = "assay_change", "assay_serial"
APPLICATION = "assay listener"
CONNECT_SECONDS, PAUSE_SECONDS = 10, 0.5
# A dead connection looks like an idle one until a statement is sent.
CHECK_SECONDS = 30


async def listen_for_notifications(
    url: str, on_connected: Callable[[], None], on_notification: Callable[[str, str], None]
) -> NoReturn:
    """Call `on_notification` with channel and payload, and `on_connected` whenever some may have been missed.

    Never returns: reconnects whenever the connection is lost. Cancelling closes the connection.
    """
    is_down = False
    while True:
        try:
            async with _connection(url) as connection:
                is_down = False
                await _listen(connection, on_connected, on_notification)
        except Exception as error:
            if not (is_outage(error) or isinstance(error, asyncpg.InterfaceError)):
                raise
            if not is_down:
                log.warning("Lost the connection for notifications; reconnecting", error=repr(error))
            is_down = True
        await asyncio.sleep(PAUSE_SECONDS)


@asynccontextmanager
async def _connection(url: str) -> AsyncIterator[asyncpg.Connection]:
    settings = {"application_name": APPLICATION}
    connection = await asyncpg.connect(url, timeout=CONNECT_SECONDS, server_settings=settings)
    try:
        yield connection
    finally:
        connection.terminate()


async def _listen(
    connection: asyncpg.Connection, on_connected: Callable[[], None], on_notification: Callable[[str, str], None]
) -> None:
    """Listen until the connection is lost, then raise ConnectionResetError."""
    lost = asyncio.Event()
    connection.add_termination_listener(lambda _connection: lost.set())
    for channel in (CHANGE, SERIAL):
        await connection.add_listener(channel, lambda _connection, _pid, name, payload: on_notification(name, payload))
    on_connected()
    while not await wait_or_stop(lost, CHECK_SECONDS):
        await connection.execute("SELECT 1", timeout=CONNECT_SECONDS)
    raise ConnectionResetError("The connection was lost.")
