"""The only builder: from Settings to everything a process works with."""

import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import aiohttp
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from obstore.store import LocalStore, from_url

from assay.accounts.seal import Seal
from assay.blobs.blobs import Blobs
from assay.certify.hallmark import SigningKey
from assay.edge.kv import Edge
from assay.edge.places import open_edge
from assay.fetch.flight import SingleFlight
from assay.fetch.limits import Limits
from assay.fetch.source import Fetcher
from assay.github.auth import GitHubAuth
from assay.github.budget import TokenBudget
from assay.github.client import GitHub, GitHubUrls
from assay.github.oauth import GitHubSignIn
from assay.github.session import open_session
from assay.judge.policy import Policy
from assay.model.clock import Clock
from assay.model.errors import Unavailable
from assay.model.files import write_once
from assay.model.skill import Skill
from assay.model.submission import ACTIVE, State
from assay.pipeline import Tools
from assay.projection.rebuild import Backfill
from assay.publish.ledger import Ledger
from assay.queue.retry import RetryBudget
from assay.queue.worker import Gate, WorkerOptions
from assay.scan.ruleset import load_ruleset
from assay.scan.scan import ENGINE
from assay.scanners.pool import ScannerOptions, cores, open_scanners
from assay.serve.copy import PublishedCopy
from assay.serve.facts import WatchLimits
from assay.settings import Settings
from assay.store.database import Database, PoolOptions, open_database
from assay.store.embedded import Server
from assay.store.keys import register_key
from assay.store.migrate import check_schema
from assay.store.pauses import read_pause
from assay.submit.repository import SkillFinder
from assay.submit.restore import submit_lost
from assay.upstream import Watch

REMEMBERED_IDENTITIES = 10_000
# How often a process looks whether the database still answers, if nobody has noticed otherwise.
WATCH_SECONDS = 2


@dataclass(frozen=True)
class App:
    """What every process holds: settings, the database and its copy at the edge, blobs, signing key, time."""

    settings: Settings
    database_url: str
    store: Database
    edge: Edge
    copy: PublishedCopy
    blobs: Blobs
    key: SigningKey
    github: GitHub
    finder: SkillFinder
    limits: Limits
    clock: Clock


@asynccontextmanager
async def open_app(settings: Settings, *, application: str, clock: Clock | None = None) -> AsyncIterator[App]:
    """Open everything, or raise an error that says what is missing."""
    url, clock = database_url(settings), clock or Clock()
    pool = PoolOptions(application=application, watch_seconds=WATCH_SECONDS)
    async with open_database(url, pool) as store, open_session() as session, opened_edge(settings) as edge:
        await check_schema(store)
        key = open_signing_key(settings.data_dir / "keys" / "hallmark.pem")
        async with store.begin() as db:
            await register_key(db, key.id, key.public_pem)
        copy = PublishedCopy(edge, clock.now)
        store.breaker.on_recovery(copy.forget)
        github = _github(settings, session, clock)
        yield App(
            settings=settings,
            database_url=url,
            store=store,
            edge=edge,
            copy=copy,
            blobs=open_blobs(settings),
            key=key,
            github=github,
            finder=SkillFinder(github, clock),
            limits=Limits(),
            clock=clock,
        )


@asynccontextmanager
async def open_tools(app: App) -> AsyncIterator[Tools]:
    """What the pipeline works with in a worker process."""
    settings, clock = app.settings, app.clock
    ruleset, deadline_seconds = load_ruleset().version, settings.stuck_seconds * 0.9
    ledger = Ledger(
        app.store,
        worker=f"{socket.gethostname()}:{os.getpid()}",
        lease_seconds=deadline_seconds,
        engine=ENGINE,
        ruleset=ruleset,
    )
    async with open_scanners(ScannerOptions(settings.scan_processes or cores()), ruleset) as scanners:
        yield Tools(
            store=app.store,
            blobs=app.blobs,
            fetcher=Fetcher(app.github, app.blobs, app.limits, clock),
            scanners=scanners,
            policy=Policy(fast_approve_threshold=settings.fast_approve_threshold),
            key=app.key,
            clock=clock,
            budget=RetryBudget(seconds=settings.retry_seconds),
            identities=SingleFlight(weigh=lambda _: 1, at_most=REMEMBERED_IDENTITIES),
            ledger=ledger,
            deadline_seconds=deadline_seconds,
        )


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


def open_watch(app: App) -> Watch:
    """What compares listings with their sources."""
    return Watch(app.store, app.github, app.clock, timedelta(seconds=app.settings.watch_seconds))


def watch_limits(settings: Settings) -> WatchLimits:
    """From when on something is wrong with the queue."""
    working = timedelta(seconds=settings.stuck_seconds)
    waiting = timedelta(seconds=settings.stuck_received_seconds or settings.stuck_seconds)
    return WatchLimits(
        stuck={state: waiting if state is State.RECEIVED else working for state in ACTIVE},
        oldest_waiting=timedelta(seconds=settings.oldest_waiting_seconds),
        watch_every=timedelta(seconds=settings.watch_seconds) if settings.watch_seconds else None,
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


def open_signing_key(file: Path) -> SigningKey:
    """The key in this file, made when it is first needed; the first of two makers wins."""
    if not file.exists():
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        write_once(file, Ed25519PrivateKey.generate().private_bytes(*form))
    private = serialization.load_pem_private_key(file.read_bytes(), password=None)
    assert isinstance(private, Ed25519PrivateKey)
    return SigningKey(private)


def _github(settings: Settings, session: aiohttp.ClientSession, clock: Clock) -> GitHub:
    urls = GitHubUrls(settings.github_api_url, settings.github_raw_url, settings.github_codeload_url)
    tokens = tuple(GitHubAuth(token.get_secret_value()) for token in settings.github_tokens)
    return GitHub(session, urls, TokenBudget(tokens, lambda: clock.now().timestamp()))
