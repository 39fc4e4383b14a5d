"""Work that goes on whatever becomes of a turn: an outage skips one, a bug is told once, and neither ends the rest."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

import structlog

from assay.model.errors import Unavailable

log = structlog.get_logger()

Done = TypeVar("Done")
Item = TypeVar("Item")


class Bug(Exception):
    """What nobody expected, in a line; the log has the rest."""

    def __init__(self, problem: Exception) -> None:
        said = next(iter(str(problem).splitlines()), "")
        super().__init__(f"{type(problem).__name__}: {said}")


async def expecting(
    work: Awaitable[Done], what: str, *, known: tuple[type[Exception], ...] = (Unavailable,), **about: Any
) -> Done:
    """The result, or one of the errors that are known. Any other is logged here with its trace, and raised as a Bug."""
    try:
        return await work
    except known:
        raise
    except Exception as problem:
        log.exception(what, **about)
        raise Bug(problem) from problem


async def keep_going(
    turn: Callable[[], Awaitable[float]],
    stopping: asyncio.Event,
    what: str,
    *,
    after_seconds: float,
    **about: Any,
) -> None:
    """Take turns until `stopping`. Each says in how many seconds the next is due; else `after_seconds`."""
    while not stopping.is_set():
        seconds = after_seconds
        try:
            seconds = await expecting(turn(), f"A bug: {what}", **about)
        except Unavailable as outage:
            log.warning(what, problem=outage.message, **about)
        except Bug:
            pass  # it is in the log
        await wait_until(stopping, seconds)


async def do_each(
    items: Iterable[Item],
    work: Callable[[Item], Awaitable[None]],
    what: str,
    *,
    at_once: int,
    name: Callable[[Item], str],
) -> None:
    """So many at a time; one that fails is told by its name, and keeps nobody from the others."""
    gate = asyncio.Semaphore(at_once)

    async def one(item: Item) -> None:
        async with gate:
            try:
                await expecting(work(item), f"A bug: {what}", item=name(item))
            except Unavailable as outage:
                log.warning(what, item=name(item), problem=outage.message)
            except Bug:
                pass  # it is in the log

    async with asyncio.TaskGroup() as group:
        for item in items:
            group.create_task(one(item))


async def wait_until(stopping: asyncio.Event, seconds: float) -> None:
    """Wait so long, or until `stopping`; others have their turn even if it is no time at all."""
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            await stopping.wait()
    except TimeoutError:
        return
