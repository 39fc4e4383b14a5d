"""Keeps processes alive: what ends without being asked to is reported and started again."""

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass
from subprocess import PIPE

from assay.model.errors import Unavailable
from assay.store.database.embedded import Server

STOP_SECONDS = 40
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 30
HEALTHY_AFTER_SECONDS = 60
Report = Callable[[str], None]


@dataclass(frozen=True)
class Child:
    """A command of ours that runs as a process of its own."""

    name: str
    arguments: tuple[str, ...]
    inherited: tuple[int, ...] = ()


async def keep_alive(child: Child, stopping: asyncio.Event, report: Report) -> None:
    """Run it; restart it with growing pauses whenever it ends; stop it gently when asked."""
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
            # A session of its own: Ctrl-C reaches only the supervisor, which stops things in order.
            start_new_session=True,
        )
        code = await _ended_or_stopped(process, stopping)
        if code is None:
            return
        lived = asyncio.get_running_loop().time() - started
        pause = FIRST_PAUSE_SECONDS if lived > HEALTHY_AFTER_SECONDS else min(pause * 2, LONGEST_PAUSE_SECONDS)
        report(f"{child.name} ended with {_describe(code)}; starting it again in {pause:.0f} s")
        await _wait(stopping, pause)


async def keep_server_alive(server: Server, stopping: asyncio.Event, report: Report) -> None:
    """Start the embedded PostgreSQL again if it dies; it recovers by itself."""
    while not await _wait(stopping, 1):
        if await asyncio.to_thread(server.is_running):
            continue
        report("PostgreSQL has ended; starting it again")
        try:
            await asyncio.to_thread(server.start)
            report("PostgreSQL is back")
        except Unavailable as problem:
            report(problem.message)


async def _ended_or_stopped(process: asyncio.subprocess.Process, stopping: asyncio.Event) -> int | None:
    """The exit code if it ended by itself; None if it was stopped because we stop."""
    ended = asyncio.create_task(process.wait())
    asked = asyncio.create_task(stopping.wait())
    await asyncio.wait({ended, asked}, return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
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


async def _wait(stopping: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(stopping.wait(), seconds)
    except TimeoutError:
        return False
    return True


def _describe(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
