"""The queue worker: claims jobs in batches, keeps many in flight and requeues those it cannot finish."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import asyncpg
import structlog
from anyio import CancelScope
from pgqueuer.adapters.drivers.asyncpg import AsyncpgPoolDriver
from pgqueuer.core.qm import QueueManager
from pgqueuer.domain.errors import FailingListenerError, RetryRequested
from pgqueuer.domain.models import Context
from pgqueuer.domain.models import Job as EngineJob

from assay.concurrency import wait_or_stop
from assay.model.errors import Unavailable
from assay.model.job import ENTRYPOINT, Job, decode_job
from assay.queue.outcome import Outcome, Paused, Retry
from assay.store.database.database import is_outage
from assay.store.queue.pgqueuer import NAMES, queries_on

log = structlog.get_logger()
Handler = Callable[[Job], Awaitable[Outcome]]
Gate = Callable[[], Awaitable[bool]]
# Errors of a lost connection, besides those that `is_outage` knows.
CONNECTION_LOST = asyncpg.InterfaceError | FailingListenerError | Unavailable


@dataclass(frozen=True)
class WorkerOptions:
    batch: int = 10
    concurrency: int = 20
    lease_seconds: float = 30
    idle_seconds: float = 5
    stop_seconds: float = 20
    reconnect_seconds: float = 1
    pause_check_seconds: float = 1

    @property
    def in_flight(self) -> int:
        """The maximum number of jobs in flight in one worker."""
        return self.batch * self.concurrency


async def run_worker(
    url: str, handle: Handler, options: WorkerOptions, stopping: asyncio.Event, is_paused: Gate | None = None
) -> None:
    """Work until `stopping` is set; then finish jobs in flight and requeue those not done in `stop_seconds`.

    While `is_paused` returns true, jobs in flight are finished and none are claimed.
    """
    gate = is_paused or _never
    while not stopping.is_set():
        try:
            async with _pool(url) as pool:
                while not stopping.is_set():
                    if await gate():
                        await wait_or_stop(stopping, options.pause_check_seconds)
                    else:
                        await _run_once(pool, handle, options, stopping, gate)
        except Exception as error:
            # A worker survives database outages.
            if not (is_outage(error) or isinstance(error, CONNECTION_LOST)):
                raise
            log.warning("Lost the connection to the queue; reconnecting", error=repr(error))
            await wait_or_stop(stopping, options.reconnect_seconds)


async def _run_once(
    pool: asyncpg.Pool, handle: Handler, options: WorkerOptions, stopping: asyncio.Event, is_paused: Gate
) -> None:
    """Claim jobs until the worker stops or the queue is paused, then wait for the claimed ones."""
    manager = QueueManager(queries_on(AsyncpgPoolDriver(pool)), channel=NAMES.channel)
    given_up = asyncio.Event()

    @manager.entrypoint(ENTRYPOINT, on_failure="hold", accepts_context=True)
    async def work(job: EngineJob, context: Context) -> None:
        # Cancels the handler if the job is removed from the queue meanwhile.
        with context.cancellation:
            match await _handle_or_requeue(job, handle, given_up):
                case Retry(after_seconds):
                    raise RetryRequested(timedelta(seconds=after_seconds))
                case Paused():
                    manager.shutdown.set()
                    raise RetryRequested(timedelta(0))

    async with _stopper(manager, options, stopping, given_up), _pauser(manager, options, is_paused):
        await manager.run(
            dequeue_timeout=timedelta(seconds=options.idle_seconds),
            batch_size=options.batch,
            max_concurrent_tasks=options.in_flight,
            heartbeat_timeout=timedelta(seconds=options.lease_seconds),
            shutdown_on_listener_failure=True,
            log_aggregation_interval=timedelta(0),
        )


async def _handle_or_requeue(job: EngineJob, handle: Handler, given_up: asyncio.Event) -> Outcome:
    """Return the handler's outcome, or `Retry(0)` if the worker has to stop first."""
    assert job.payload is not None
    working = asyncio.ensure_future(handle(decode_job(job.payload)))
    giving_up = asyncio.ensure_future(given_up.wait())
    try:
        await asyncio.wait({working, giving_up}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        return Retry(0)
    finally:
        giving_up.cancel()
        if not working.done():
            working.cancel()
            with CancelScope(shield=True):
                await asyncio.wait({working})


@asynccontextmanager
async def _stopper(
    manager: QueueManager, options: WorkerOptions, stopping: asyncio.Event, given_up: asyncio.Event
) -> AsyncIterator[None]:
    async def stop() -> None:
        await stopping.wait()
        manager.shutdown.set()
        await asyncio.sleep(options.stop_seconds)
        given_up.set()

    task = asyncio.create_task(stop())
    try:
        yield
    finally:
        task.cancel()


@asynccontextmanager
async def _pauser(manager: QueueManager, options: WorkerOptions, is_paused: Gate) -> AsyncIterator[None]:
    async def watch() -> None:
        while not manager.shutdown.is_set():
            await wait_or_stop(manager.shutdown, options.pause_check_seconds)
            try:
                if await is_paused():
                    manager.shutdown.set()
            except Unavailable as error:
                # The manager detects outages by itself.
                log.debug("Failed to check whether the queue is paused", error=error.message)

    task = asyncio.create_task(watch())
    try:
        yield
    finally:
        task.cancel()


async def _never() -> bool:
    return False


@asynccontextmanager
async def _pool(url: str) -> AsyncIterator[asyncpg.Pool]:
    pool = await asyncpg.create_pool(
        url, min_size=2, max_size=4, command_timeout=30, server_settings={"application_name": "assay queue"}
    )
    try:
        yield pool
    finally:
        pool.terminate()


@dataclass
class InFlight:
    """The number of jobs in flight in this process."""

    number: int = 0

    def counting(self, handle: Handler) -> Handler:
        """Wrap a handler so that its running calls are counted."""

        async def counted(job: Job) -> Outcome:
            self.number += 1
            try:
                return await handle(job)
            finally:
                self.number -= 1

        return counted
