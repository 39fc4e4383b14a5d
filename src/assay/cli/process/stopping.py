"""Event loop and graceful shutdown: on a signal, or when the supervisor holding standard input has ended."""

import asyncio
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

import typer
import uvloop

from assay.cli.ui.exit_codes import Exit

Result = TypeVar("Result")


def run_async(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in the process's event loop."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def run_command(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine; on Ctrl-C, exit with code 130."""
    try:
        return run_async(work)
    except KeyboardInterrupt:
        raise typer.Exit(Exit.INTERRUPTED) from None


def stopping_event(*, supervised: bool) -> asyncio.Event:
    """Return an event that is set when this process should finish its work and exit."""
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    if supervised:
        # The supervisor never writes to the pipe: it becomes readable only when the supervisor has ended.
        loop.add_reader(sys.stdin.fileno(), _orphaned, loop, stopping)
    return stopping


def _orphaned(loop: asyncio.AbstractEventLoop, stopping: asyncio.Event) -> None:
    loop.remove_reader(sys.stdin.fileno())
    stopping.set()
