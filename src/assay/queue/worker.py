"""The worker: claims jobs in batches, keeps many in flight, gives back what it cannot finish."""

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

from assay.model.errors import Unavailable
from assay.model.job import ENTRYPOINT, Job, decode_job
from assay.queue.outcome import Again, Outcome, Paused
from assay.store.database.database import is_outage
from assay.store.queue.pgqueuer import NAMES, queries_on

log = structlog.get_logger()
Handler = Callable[[Job], Awaitable[Outcome]]
Gate = Callable[[], Awaitable[bool]]
# Besides an outage, what says that the database went away; the worker waits for it and goes on.
AWAY = asyncpg.InterfaceError | FailingListenerError | Unavailable


@dataclass(frozen=True)
class WorkerOptions:
    """Batch × concurrency jobs are in flight at most."""

    batch: int = 10
    concurrency: int = 20
    lease_seconds: float = 30
    idle_seconds: float = 5
    stop_seconds: float = 20
    reconnect_seconds: float = 1
    pause_check_seconds: float = 1

    @property
    def in_flight(self) -> int:
        """The most jobs that one worker works on at once."""
        return self.batch * self.concurrency


async def run_worker(
    url: str, handle: Handler, options: WorkerOptions, stopping: asyncio.Event, is_paused: Gate | None = None
) -> None:
    """Work until `stopping` is set; then finish what is in flight, or give it back after a while.

    While `is_paused` says so, nothing new is claimed; what is in flight is finished.
    """
    gate = is_paused or _never
    while not stopping.is_set():
        try:
            async with _pool(url) as pool:
                while not stopping.is_set():
                    if await gate():
                        await _wait(stopping, options.pause_check_seconds)
                    else:
                        await _run_once(pool, handle, options, stopping, gate)
        except Exception as problem:
            # The worker outlives the database: it waits for it and goes on.
            if not (is_outage(problem) or isinstance(problem, AWAY)):
                raise
            log.warning("The queue does not answer; trying again", problem=repr(problem))
            await _wait(stopping, options.reconnect_seconds)


async def _run_once(
    pool: asyncpg.Pool, handle: Handler, options: WorkerOptions, stopping: asyncio.Event, is_paused: Gate
) -> None:
    """Claim and work until the worker stops or the queue is paused, and until what was claimed is done."""
    manager = QueueManager(queries_on(AsyncpgPoolDriver(pool)), channel=NAMES.channel)
    given_up = asyncio.Event()

    @manager.entrypoint(ENTRYPOINT, on_failure="hold", accepts_context=True)
    async def work(job: EngineJob, context: Context) -> None:
        # A job that was taken out of the queue while it runs is cancelled here.
        with context.cancellation:
            match await _handle_or_give_back(job, handle, given_up):
                case Again(after_seconds):
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


async def _handle_or_give_back(job: EngineJob, handle: Handler, given_up: asyncio.Event) -> Outcome:
    """The handler's outcome, or `Again` at once if the worker has to stop before there is one."""
    assert job.payload is not None
    working = asyncio.ensure_future(handle(decode_job(job.payload)))
    giving_up = asyncio.ensure_future(given_up.wait())
    try:
        await asyncio.wait({working, giving_up}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        return Again(0)
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
            await _wait(manager.shutdown, options.pause_check_seconds)
            try:
                if await is_paused():
                    manager.shutdown.set()
            except Unavailable as problem:
                # The manager notices an outage by itself.
                log.debug("It is not known whether the queue is paused", problem=problem.message)

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


async def _wait(stopping: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stopping.wait(), seconds)
    except TimeoutError:
        return
