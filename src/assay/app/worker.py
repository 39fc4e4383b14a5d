"""What the pipeline works with in a worker process, and how a worker works."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from time import monotonic

import aiohttp

from assay.app.app import App
from assay.fetch.archive_cache import ArchiveCache
from assay.fetch.flight import SingleFlight
from assay.fetch.source import Fetcher
from assay.llm.breaker import Breaker
from assay.llm.budget import Purse
from assay.llm.client import Endpoint, ModelClient
from assay.llm.judge import Judge, JudgeOptions
from assay.llm.prices import Prices
from assay.pipeline import Tools
from assay.policy.policy import Policy
from assay.publish.group_commit import Ledger
from assay.queue.retry import RetryBudget
from assay.queue.worker import Gate, WorkerOptions
from assay.scan.scan import ENGINE
from assay.scan_pool.pool import ScannerOptions, cores, open_scanners
from assay.settings import Settings
from assay.store.queue.pauses import read_pause

REMEMBERED_IDENTITIES = 10_000
# Of the time that a submission may take, for the judge.
JUDGES_SHARE = 0.75


@asynccontextmanager
async def open_tools(app: App, scanning: ScannerOptions | None = None) -> AsyncIterator[Tools]:
    """What the pipeline works with in a worker process, which scans as its settings say unless it is told otherwise."""
    settings, clock = app.settings, app.clock
    deadline_seconds = settings.stuck_seconds * 0.9
    policy = policy_of(settings)
    async with (
        open_scanners(scanning or scanner_options(settings), app.ruleset) as scanners,
        open_judge(app, policy, deadline_seconds) as judge,
    ):
        ledger = Ledger(
            app.store,
            worker=f"{socket.gethostname()}:{os.getpid()}",
            lease_seconds=deadline_seconds,
            engine=ENGINE,
            ruleset=app.ruleset.version,
            keys=app.keys,
            deep_tools=settings.deep_scan_tools,
            judge=(judge.engine, judge.prompt) if judge else None,
        )
        yield Tools(
            store=app.store,
            blobs=app.blobs,
            fetcher=Fetcher(app.github, app.blobs, app.limits, clock, app.git, archive_cache(settings)),
            scanners=scanners,
            policy=policy,
            keys=app.keys,
            judge=judge,
            clock=clock,
            budget=RetryBudget(seconds=settings.retry_seconds),
            identities=SingleFlight(weigh=lambda _: 1, at_most=REMEMBERED_IDENTITIES),
            ledger=ledger,
            deadline_seconds=deadline_seconds,
        )


def scanner_options(settings: Settings) -> ScannerOptions:
    """How many scan processes one process may have."""
    return ScannerOptions(settings.scan_processes or cores())


def archive_cache(settings: Settings) -> ArchiveCache | None:
    """Where the processes of this machine keep archives, if they do."""
    size_bytes = settings.archive_cache_mb * 1024 * 1024
    return ArchiveCache(settings.data_dir / "archives", size_bytes) if size_bytes else None


def policy_of(settings: Settings) -> Policy:
    """Where this registry draws its lines."""
    return Policy(fast_approve_threshold=settings.fast_approve_threshold, has_judge=settings.llm_url is not None)


@asynccontextmanager
async def open_judge(app: App, policy: Policy, deadline_seconds: float) -> AsyncIterator[Judge | None]:
    """The judge, if there is a model to ask."""
    settings = app.settings
    if settings.llm_url is None or settings.llm_model is None:
        yield None
        return
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else None
    prices = Prices(settings.llm_prompt_price, settings.llm_completion_price)
    pause = float(settings.llm_pause_seconds)
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        client = ModelClient(
            session,
            Endpoint(settings.llm_url, settings.llm_model, key, settings.llm_timeout_seconds, prices),
            Breaker(monotonic, pause),
            asyncio.Semaphore(settings.llm_concurrency),
            retry_pause_seconds=min(1.0, pause),
        )
        options = JudgeOptions(
            window_tokens=settings.llm_window_tokens,
            deadline_seconds=deadline_seconds * JUDGES_SHARE,
            patience=timedelta(seconds=settings.llm_patience_seconds),
            pause_seconds=pause,
        )
        purse = Purse(app.store, app.clock, settings.llm_model, settings.llm_budget_micros)
        places = asyncio.Semaphore(settings.llm_concurrency)
        yield Judge(app.store, client, purse, policy, app.clock, options, places)


def worker_options(settings: Settings) -> WorkerOptions:
    """How a worker of this machine claims jobs."""
    return WorkerOptions(
        batch=settings.worker_batch,
        concurrency=settings.worker_concurrency,
        lease_seconds=settings.lease_seconds,
    )


def pause_gate(app: App) -> Gate:
    """Whether the queue is paused, as the database says."""

    async def is_paused() -> bool:
        async with app.store.begin() as db:
            return await read_pause(db) is not None

    return is_paused
