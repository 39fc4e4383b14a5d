"""The tools of the pipeline, and the options of a worker, created from the settings."""

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
from assay.fetch.single_flight import SingleFlight
from assay.fetch.source import Fetcher
from assay.llm.breaker import ModelBreaker
from assay.llm.budget import DailyBudget
from assay.llm.client import Endpoint, ModelClient
from assay.llm.judge import Judge, JudgeOptions
from assay.llm.prices import Prices
from assay.pipeline import PipelineDependencies
from assay.policy.policy import Policy
from assay.publish.group_commit import GroupCommit
from assay.queue.outcome import RetryPolicy
from assay.queue.worker import Gate, WorkerOptions
from assay.scan.scan import ENGINE
from assay.scan_pool.pool import ScanPoolOptions, cores, open_scan_pool
from assay.settings import Settings
from assay.store.queue.pauses import read_pause

MAX_CACHED_IDENTITIES = 10_000
# The share of a submission's deadline that the judge may use.
JUDGE_TIME_SHARE = 0.75


@asynccontextmanager
async def open_tools(app: App, scanning: ScanPoolOptions | None = None) -> AsyncIterator[PipelineDependencies]:
    """Yield the tools of the pipeline; `scanning` overrides the scan processes in the settings."""
    settings, clock = app.settings, app.clock
    deadline_seconds = settings.stuck_seconds * 0.9
    policy = make_policy(settings)
    async with (
        open_scan_pool(scanning or scan_pool_options(settings), app.ruleset) as scanners,
        open_judge(app, policy, deadline_seconds) as judge,
    ):
        group_commit = GroupCommit(
            app.store,
            worker=f"{socket.gethostname()}:{os.getpid()}",
            lease_seconds=deadline_seconds,
            engine=ENGINE,
            ruleset=app.ruleset.version,
            keys=app.keys,
            deep_tools=settings.deep_scan_tools,
            judge=(judge.engine, judge.prompt) if judge else None,
        )
        yield PipelineDependencies(
            store=app.store,
            blobs=app.blobs,
            fetcher=Fetcher(app.github, app.blobs, app.limits, clock, app.git, archive_cache(settings)),
            scanners=scanners,
            policy=policy,
            keys=app.keys,
            judge=judge,
            clock=clock,
            retry_policy=RetryPolicy(seconds=settings.retry_seconds),
            identities=SingleFlight(weigh=lambda _: 1, at_most=MAX_CACHED_IDENTITIES),
            group_commit=group_commit,
            deadline_seconds=deadline_seconds,
        )


def scan_pool_options(settings: Settings) -> ScanPoolOptions:
    return ScanPoolOptions(settings.scan_processes or cores())


def archive_cache(settings: Settings) -> ArchiveCache | None:
    """Return the archive cache shared by the processes of this machine, unless it is turned off."""
    size_bytes = settings.archive_cache_mb * 1024 * 1024
    return ArchiveCache(settings.data_dir / "archives", size_bytes) if size_bytes else None


def make_policy(settings: Settings) -> Policy:
    return Policy(fast_approve_threshold=settings.fast_approve_threshold, has_judge=settings.llm_url is not None)


@asynccontextmanager
async def open_judge(app: App, policy: Policy, deadline_seconds: float) -> AsyncIterator[Judge | None]:
    """Yield the judge, or None if no model is configured."""
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
            ModelBreaker(monotonic, pause),
            asyncio.Semaphore(settings.llm_concurrency),
            retry_pause_seconds=min(1.0, pause),
        )
        options = JudgeOptions(
            window_tokens=settings.llm_window_tokens,
            deadline_seconds=deadline_seconds * JUDGE_TIME_SHARE,
            patience=timedelta(seconds=settings.llm_patience_seconds),
            pause_seconds=pause,
        )
        budget = DailyBudget(app.store, app.clock, settings.llm_model, settings.llm_budget_micros)
        slots = asyncio.Semaphore(settings.llm_concurrency)
        yield Judge(app.store, client, budget, policy, app.clock, options, slots)


def worker_options(settings: Settings) -> WorkerOptions:
    return WorkerOptions(
        batch=settings.worker_batch,
        concurrency=settings.worker_concurrency,
        lease_seconds=settings.lease_seconds,
    )


def pause_gate(app: App) -> Gate:
    """Return a function that reads whether the queue is paused."""

    async def is_paused() -> bool:
        async with app.store.begin() as db:
            return await read_pause(db) is not None

    return is_paused
