"""When to stop: on a signal, or when the supervisor that holds our standard input is gone."""

import asyncio
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

import typer
import uvloop

from assay.cli.ui.exits import Exit

Result = TypeVar("Result")


def run_until_done(work: Coroutine[Any, Any, Result]) -> Result:
    """The one event loop of a process."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def run_command(work: Coroutine[Any, Any, Result]) -> Result:
    """The same for work that Ctrl-C ends: it has the code that shells know, which no outcome has."""
    try:
        return run_until_done(work)
    except KeyboardInterrupt:
        raise typer.Exit(Exit.INTERRUPTED) from None


def stopping_event(*, supervised: bool) -> asyncio.Event:
    """An event that is set when this process should finish its work and leave."""
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    if supervised:
        # The supervisor never writes: the pipe becomes readable only when it has ended.
        loop.add_reader(sys.stdin.fileno(), _orphaned, loop, stopping)
    return stopping


def _orphaned(loop: asyncio.AbstractEventLoop, stopping: asyncio.Event) -> None:
    loop.remove_reader(sys.stdin.fileno())
    stopping.set()
