"""Supervision of child processes and the embedded PostgreSQL: report an unexpected end, and restart."""

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from subprocess import PIPE

from assay.concurrency import wait_or_stop
from assay.model.errors import Unavailable
from assay.store.database.embedded import EmbeddedServer

STOP_SECONDS = 40
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.5, 30
HEALTHY_AFTER_SECONDS = 60
Report = Callable[[str], None]


@dataclass(frozen=True)
class Child:
    """An `assay` command that runs in its own process."""

    name: str
    arguments: tuple[str, ...]
    inherited: tuple[int, ...] = ()


async def keep_alive(child: Child, stopping: asyncio.Event, report: Report) -> None:
    """Run a child, restart it with growing pauses whenever it ends, and terminate it on `stopping`."""
    pause = FIRST_PAUSE_SECONDS
    while not stopping.is_set():
        started = asyncio.get_running_loop().time()
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "assay",
            *child.arguments,
            stdin=PIPE,
            pass_fds=child.inherited,
            # In its own session, Ctrl-C reaches only the supervisor, which stops the children in order.
            start_new_session=True,
        )
        code = await _ended_or_stopped(process, stopping)
        if code is None:
            return
        lived = asyncio.get_running_loop().time() - started
        pause = FIRST_PAUSE_SECONDS if lived > HEALTHY_AFTER_SECONDS else min(pause * 2, MAX_PAUSE_SECONDS)
        report(f"{child.name} ended with {_describe(code)}; restarting it in {pause:.0f} s")
        await wait_or_stop(stopping, pause)


async def keep_server_alive(server: EmbeddedServer, stopping: asyncio.Event, report: Report) -> None:
    """Restart the embedded PostgreSQL if it ends; it recovers its data by itself."""
    while not await wait_or_stop(stopping, 1):
        if await asyncio.to_thread(server.is_running):
            continue
        report("PostgreSQL has ended; restarting it")
        try:
            await asyncio.to_thread(server.start)
            report("PostgreSQL is running again")
        except Unavailable as problem:
            report(problem.message)


async def _ended_or_stopped(process: asyncio.subprocess.Process, stopping: asyncio.Event) -> int | None:
    """Return the exit code if the process ended by itself; None after terminating it because of `stopping`."""
    ended = asyncio.create_task(process.wait())
    stop_requested = asyncio.create_task(stopping.wait())
    await asyncio.wait({ended, stop_requested}, return_when=asyncio.FIRST_COMPLETED)
    stop_requested.cancel()
    if ended.done() and not stopping.is_set():
        return ended.result()
    if not ended.done():
        process.terminate()
        try:
            await asyncio.wait_for(asyncio.shield(ended), STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await ended
    return None


def _describe(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
