"""The only builder: from Settings to everything a process works with."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from time import monotonic

import aiohttp
from obstore.store import LocalStore, from_url

from assay.accounts.seal import Seal
from assay.blobs.blobs import Blobs
from assay.certify.keys import SigningKeys
from assay.deepscan.push import Pusher
from assay.discover.all_sources import SourceOptions, all_sources
from assay.discover.crawl import Asked, Crawler
from assay.discover.look import Looker
from assay.discover.sources.registries import Registry
from assay.discover.web import open_web
from assay.edge.kv import Edge
from assay.edge.places import open_edge
from assay.fetch.archive_cache import ArchiveCache
from assay.fetch.flight import SingleFlight
from assay.fetch.limits import Limits
from assay.fetch.source import Fetcher
from assay.git.client import Git
from assay.github.answers import Answers
from assay.github.book import MOST_CALLS, PART
from assay.github.budget import TokenBudget
from assay.github.client import GitHub, GitHubUrls
from assay.github.identities import open_identities
from assay.github.oauth import GitHubSignIn
from assay.github.session import open_session
from assay.judge.passes import PROMPT
from assay.judge.policy import Policy
from assay.judges.judge import Judge, JudgeOptions
from assay.judges.purse import Purse
from assay.keyring import KeyFiles, open_keys
from assay.llm.breaker import Breaker
from assay.llm.client import Endpoint, ModelClient
from assay.llm.prices import Prices
from assay.model.clock import Clock
from assay.model.discovery import MOST_RESULTS, RegistryKind
from assay.model.errors import Unavailable
from assay.model.judgement import ENGINE_PREFIX
from assay.model.repository import Host, RepositoryName
from assay.model.skill import Skill
from assay.model.submission import ACTIVE, State
from assay.pipeline import Tools
from assay.projection.rebuild import Backfill
from assay.publish.ledger import Ledger
from assay.queue.retry import RetryBudget
from assay.queue.worker import Gate, WorkerOptions
from assay.replay import Replay
from assay.scan.ruleset import load_ruleset
from assay.scan.scan import ENGINE
from assay.scanners.pool import ScannerOptions, cores, open_scanners
from assay.second_look import SecondLook
from assay.serve.copy import PublishedCopy
from assay.serve.facts import WatchLimits
from assay.serve.starter import starter_skills
from assay.settings import Settings
from assay.store.allowances import AllowanceBook
from assay.store.database import Database, PoolOptions, open_database
from assay.store.embedded import Server
from assay.store.github_answers import AnswerShelf
from assay.store.keys import register_keys
from assay.store.migrate import check_schema
from assay.store.pauses import read_pause
from assay.submit.repository import SkillFinder
from assay.submit.restore import submit_lost
from assay.upstream import Watch

REMEMBERED_IDENTITIES = 10_000
# How often a process looks whether the database still answers, if nobody has noticed otherwise.
WATCH_SECONDS = 2
# How long a database that has come back may take to say what is in it.
ENTER_SECONDS = 10
# Of the time that a submission may take, for the judge.
JUDGES_SHARE = 0.75


@dataclass(frozen=True)
class App:
    """What every process holds: settings, the database and its copy at the edge, blobs, signing key, time."""

    settings: Settings
    database_url: str
    store: Database
    edge: Edge
    copy: PublishedCopy
    blobs: Blobs
    keys: SigningKeys
    github: GitHub
    git: Git
    finder: SkillFinder
    limits: Limits
    clock: Clock


@asynccontextmanager
async def open_app(
    settings: Settings, *, application: str, clock: Clock | None = None, may_wait: bool = False
) -> AsyncIterator[App]:
    """Open everything, or raise an error that says what is missing.

    Whoever `may_wait` is also opened while the database is away, and works without it until it is there.
    """
    url, clock = database_url(settings), clock or Clock()
    pool = PoolOptions(application=application, watch_seconds=WATCH_SECONDS)
    async with open_database(url, pool) as store, open_session() as session, opened_edge(settings) as edge:
        keys = open_keys(key_files(settings))
        try:
            await _enter(store, keys)
        except Unavailable:
            if not may_wait:
                raise
            store.breaker.stay_open_until(partial(_enter_anew, url, application, keys))
        copy = PublishedCopy(edge, clock.now)
        store.breaker.on_recovery(copy.forget)
        git = Git()
        async with opened_github(settings, session, clock, store) as github:
            yield App(
                settings=settings,
                database_url=url,
                store=store,
                edge=edge,
                copy=copy,
                blobs=open_blobs(settings),
                keys=keys,
                github=github,
                git=git,
                finder=SkillFinder(github, clock, git),
                limits=Limits(),
                clock=clock,
            )


async def _enter(store: Database, keys: SigningKeys) -> None:
    """What a database must be like before anybody works with it, and what it must know then."""
    await check_schema(store)
    async with store.begin() as db:
        await register_keys(db, keys.public)


async def _enter_anew(url: str, application: str, keys: SigningKeys) -> None:
    """The same on a connection of its own, for a process that nothing is let through to yet."""
    async with (
        open_database(url, PoolOptions(size=1, application=application)) as store,
        asyncio.timeout(ENTER_SECONDS),
    ):
        await _enter(store, keys)


@asynccontextmanager
async def open_tools(app: App) -> AsyncIterator[Tools]:
    """What the pipeline works with in a worker process."""
    settings, clock = app.settings, app.clock
    ruleset, deadline_seconds = load_ruleset().version, settings.stuck_seconds * 0.9
    policy = policy_of(settings)
    async with (
        open_scanners(scanner_options(settings), ruleset) as scanners,
        open_judge(app, policy, deadline_seconds) as judge,
    ):
        ledger = Ledger(
            app.store,
            worker=f"{socket.gethostname()}:{os.getpid()}",
            lease_seconds=deadline_seconds,
            engine=ENGINE,
            ruleset=ruleset,
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


def backfill_of(app: App, by: str) -> Backfill:
    """How a rebuild submits what only the edge copy knows."""

    async def backfill(lost: Sequence[Skill]) -> int:
        async with app.store.begin() as db:
            return await submit_lost(db, lost, by=by)

    return backfill


def pause_gate(app: App) -> Gate:
    """Whether the queue is paused, as the database says."""

    async def is_paused() -> bool:
        async with app.store.begin() as db:
            return await read_pause(db) is not None

    return is_paused


def open_replay(app: App) -> Replay:
    """What tries another ruleset on what is published."""
    settings = app.settings
    judge = (f"{ENGINE_PREFIX}{settings.llm_model}", PROMPT) if settings.llm_model else None
    return Replay(app.store, app.blobs, policy_of(settings), judge, scanner_options(settings))


def open_second_look(app: App, tools: Tools) -> SecondLook:
    """What weighs again what is out."""
    return SecondLook(
        store=app.store,
        blobs=app.blobs,
        scanners=tools.scanners,
        judge=tools.judge,
        policy=tools.policy,
        keys=app.keys,
        clock=app.clock,
        engine=ENGINE,
        ruleset=load_ruleset().version,
    )


def open_watch(app: App) -> Watch:
    """What compares listings with their sources."""
    return Watch(app.store, app.github, app.clock, timedelta(seconds=app.settings.watch_seconds), git=app.git)


@asynccontextmanager
async def open_crawler(app: App) -> AsyncIterator[Crawler]:
    """What looks for skills, with all sources that are set up."""
    settings = app.settings
    async with open_web(anywhere=settings.discovery_private_addresses) as web:
        sources = all_sources(_source_options(settings), app.github, web, app.clock)
        looker = Looker(app.store, app.finder, app.clock)
        yield Crawler(app.store, looker, settings.lease_seconds, sources)


def discovery_asked(
    settings: Settings, by: str, *, max_results: int | None = None, is_asked_for: bool = False
) -> Asked:
    """A run within the limits that are set."""
    most = min(max_results or settings.discovery_max_results, MOST_RESULTS)
    return Asked(by, most, settings.discovery_calls, is_asked_for=is_asked_for)


def known_repositories(settings: Settings) -> list[RepositoryName]:
    """What discovery must be able to find."""
    names = settings.discovery_known or dict.fromkeys(each.repository for each in starter_skills())
    return [RepositoryName(Host.GITHUB, *name.split("/", 1)) for name in names]


def open_pusher(app: App) -> Pusher:
    """What pushes scans to the nodes that have an address."""
    if app.settings.webhook_secret is None:
        raise Unavailable("ASSAY_WEBHOOK_SECRET is not set, so nothing can be pushed.", code="secret_missing")
    secret = app.settings.webhook_secret.get_secret_value()
    return Pusher(app.store, app.github.session, secret, app.clock, app.settings.deep_scan_lease_seconds)


def watch_limits(settings: Settings) -> WatchLimits:
    """From when on something is wrong with the queue."""
    working = timedelta(seconds=settings.stuck_seconds)
    waiting = timedelta(seconds=settings.stuck_received_seconds or settings.stuck_seconds)
    return WatchLimits(
        stuck={state: waiting if state is State.RECEIVED else working for state in ACTIVE},
        oldest_waiting=timedelta(seconds=settings.oldest_waiting_seconds),
        watch_every=timedelta(seconds=settings.watch_seconds) if settings.watch_seconds else None,
        judge_model=settings.llm_model,
        judge_budget_micros=settings.llm_budget_micros,
        deep_tools=settings.deep_scan_tools,
        deep_waiting=timedelta(seconds=settings.deep_scan_waiting_seconds),
        deep_lease=timedelta(seconds=settings.deep_scan_lease_seconds),
        report=timedelta(hours=settings.report_hours),
        review=timedelta(hours=settings.review_hours),
    )


def worker_options(settings: Settings) -> WorkerOptions:
    """How a worker of this machine claims jobs."""
    return WorkerOptions(
        batch=settings.worker_batch,
        concurrency=settings.worker_concurrency,
        lease_seconds=settings.lease_seconds,
    )


def open_seal(settings: Settings) -> Seal:
    """What signs the sessions of people."""
    if settings.jwt_secret is None:
        raise Unavailable("ASSAY_JWT_SECRET is not set, so nobody can sign in.", code="secret_missing")
    return Seal(settings.jwt_secret.get_secret_value())


def open_github_sign_in(app: App) -> GitHubSignIn | None:
    """Sign-in with GitHub, if it is set up."""
    settings = app.settings
    if settings.oauth_client_id is None or settings.oauth_client_secret is None:
        return None
    return GitHubSignIn(
        session=app.github.session,
        web_url=settings.github_web_url,
        api_url=settings.github_api_url,
        client_id=settings.oauth_client_id,
        client_secret=settings.oauth_client_secret.get_secret_value(),
    )


def database_url(settings: Settings) -> str:
    """The given database, or the embedded one if it runs."""
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    return embedded_server(settings).url


def embedded_server(settings: Settings) -> Server:
    """The PostgreSQL in the data directory."""
    return Server(settings.data_dir / "postgres")


@asynccontextmanager
async def opened_edge(settings: Settings) -> AsyncIterator[Edge]:
    """The edge copy that the settings name; nothing is connected before it is used."""
    edge = open_edge(settings.edge_url.get_secret_value(), settings.data_dir)
    try:
        yield edge
    finally:
        await edge.close()


def open_blobs(settings: Settings) -> Blobs:
    """The blob store that the settings name, or a folder of the data directory."""
    if settings.blobs_url is not None:
        return Blobs(from_url(settings.blobs_url))
    folder = settings.data_dir / "blobs"
    return Blobs(LocalStore(str(folder), mkdir=True))


def key_files(settings: Settings) -> KeyFiles:
    """Where the private keys are."""
    folder = settings.data_dir / "keys"
    return KeyFiles(settings.hallmark_key_file or folder / "hallmark.pem", settings.oms_key_file or folder / "oms.pem")


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


def _source_options(settings: Settings) -> SourceOptions:
    registries = [each.split("+", 1) for each in settings.discovery_registries]
    return SourceOptions(
        enabled=settings.discovery_sources,
        topics=settings.discovery_topics,
        organisations=settings.discovery_organisations,
        npm_url=settings.discovery_npm_url,
        npm_keywords=settings.discovery_npm_keywords,
        registries=[Registry(RegistryKind(kind), url) for kind, url in registries],
        list_place=settings.discovery_list,
        known=known_repositories(settings),
        every_seconds=settings.discovery_every_seconds,
        floor_seconds=settings.discovery_floor_seconds,
        has_token=bool(settings.github_tokens),
        web_url=settings.github_web_url,
    )


@asynccontextmanager
async def opened_github(
    settings: Settings, session: aiohttp.ClientSession, clock: Clock, store: Database
) -> AsyncIterator[GitHub]:
    """GitHub as the settings name it; what it allows and answers to tokens is shared with the other processes."""
    urls = GitHubUrls(settings.github_api_url, settings.github_raw_url, settings.github_codeload_url)

    def now() -> float:
        return clock.now().timestamp()

    identities = open_identities(settings.plain_github_tokens, settings.github_app, session, urls.api, now)
    budget, answers = TokenBudget(identities, now), Answers()
    if identities:
        secret = settings.jwt_secret.get_secret_value() if settings.jwt_secret else ""
        budget = TokenBudget(identities, now, AllowanceBook(store, MOST_CALLS, PART), secret)
        answers = Answers(AnswerShelf(store))
    github = GitHub(session, urls, budget, answers)
    try:
        yield github
    finally:
        await github.close()
