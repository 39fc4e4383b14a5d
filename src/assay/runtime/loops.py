"""Loops that survive errors: an outage skips one iteration, an unexpected error is logged."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

import structlog

from assay.concurrency import wait_or_stop
from assay.model.errors import Unavailable

log = structlog.get_logger()

Result = TypeVar("Result")
Item = TypeVar("Item")


class UnexpectedError(Exception):
    """An error that was already logged with its traceback, reduced to one line."""

    def __init__(self, error: Exception) -> None:
        message = next(iter(str(error).splitlines()), "")
        super().__init__(f"{type(error).__name__}: {message}")


async def log_bugs(
    work: Awaitable[Result], message: str, *, known: tuple[type[Exception], ...] = (Unavailable,), **about: Any
) -> Result:
    """Await `work`. Log errors that are not `known` with their traceback and raise them as UnexpectedError."""
    try:
        return await work
    except known:
        raise
    except Exception as error:
        log.exception(message, **about)
        raise UnexpectedError(error) from error


async def run_until_stopped(
    iterate: Callable[[], Awaitable[float]],
    stopping: asyncio.Event,
    message: str,
    *,
    after_seconds: float,
    **about: Any,
) -> None:
    """Call `iterate` until `stopping` is set. It returns the seconds to wait; after an error, wait `after_seconds`.

    `message` is logged with errors, for example "Failed to run periodic job".
    """
    while not stopping.is_set():
        seconds = after_seconds
        try:
            seconds = await log_bugs(iterate(), f"Unexpected error: {message}", **about)
        except Unavailable as outage:
            log.warning(message, error=outage.message, **about)
        except UnexpectedError:
            pass  # already logged
        await wait_or_stop(stopping, seconds)


async def for_each_bounded(
    items: Iterable[Item],
    work: Callable[[Item], Awaitable[None]],
    message: str,
    *,
    at_once: int,
    name: Callable[[Item], str],
) -> None:
    """Call `work` for each item, at most `at_once` concurrently. Errors are logged with the item's name."""
    gate = asyncio.Semaphore(at_once)

    async def one(item: Item) -> None:
        async with gate:
            try:
                await log_bugs(work(item), f"Unexpected error: {message}", item=name(item))
            except Unavailable as outage:
                log.warning(message, item=name(item), error=outage.message)
            except UnexpectedError:
                pass  # already logged

    async with asyncio.TaskGroup() as group:
        for item in items:
            group.create_task(one(item))
