"""The resources that every process uses, created from the settings."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import aiohttp
from obstore.store import LocalStore, from_url

from assay.accounts.names.popular import PopularNamesCache
from assay.accounts.signed_claims import ClaimsSigner
from assay.app.keys import KeyFiles, open_keys
from assay.blobs.blobs import Blobs, Recorder
from assay.certify.keys import SigningKeys
from assay.edge.kv import Edge
from assay.edge.open import open_edge
from assay.fetch.limits import Limits
from assay.git.client import Git
from assay.github.client import GitHub, GitHubUrls
from assay.github.identities import open_identities
from assay.github.oauth import GitHubSignIn
from assay.github.response_cache import ResponseCache
from assay.github.session import open_session
from assay.github.shared_budget import MAX_SHARE_CALLS, SHARE_DIVISOR
from assay.github.token_budget import TokenBudget
from assay.model.clock import Clock
from assay.model.errors import Invalid, Unavailable
from assay.queue.batching import Batcher
from assay.scan.ruleset import Ruleset
from assay.scan_pool.rule_folder import read_ruleset
from assay.serve.operations.edge_copy import PublishedCopy
from assay.settings import Settings, variable_name
from assay.store.database.database import Database, PoolOptions, open_database
from assay.store.database.embedded import EmbeddedServer
from assay.store.database.migrate import check_schema
from assay.store.repositories.cached_responses import DatabaseResponseStore
from assay.store.repositories.call_budgets import DatabaseBudgetStore
from assay.store.scans.stored_blobs import record_blobs
from assay.store.versions.keys import register_keys
from assay.submit.repository import SkillFinder

# Interval of the probe that detects an unavailable database when no query does.
WATCH_SECONDS = 2
# Time limit for preparing a database that has recovered.
PREPARE_SECONDS = 10
# Blobs recorded in one transaction.
MAX_RECORDED = 50


@dataclass(frozen=True)
class App:
    """The resources of a process."""

    settings: Settings
    ruleset: Ruleset
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
    popular_names: PopularNamesCache


@asynccontextmanager
async def open_app(
    settings: Settings, *, application: str, clock: Clock | None = None, allow_database_down: bool = False
) -> AsyncIterator[App]:
    """Open all resources, or raise an error that says what is missing.

    With `allow_database_down`, open them even if the database is down; the circuit breaker is open until it recovers.
    """
    ruleset = read_rules(settings)
    url, clock = database_url(settings), clock or Clock()
    pool = PoolOptions(application=application, watch_seconds=WATCH_SECONDS)
    async with open_database(url, pool) as store, open_session() as session, connect_edge(settings) as edge:
        keys = open_keys(key_files(settings))
        try:
            await _prepare_database(store, keys)
        except Unavailable:
            if not allow_database_down:
                raise
            store.breaker.stay_open_until(partial(_prepare_recovered_database, url, application, keys))
        copy = PublishedCopy(edge, clock.now)
        store.breaker.on_recovery(copy.forget)
        git = Git()
        async with connect_github(settings, session, clock, store) as github:
            yield App(
                settings=settings,
                ruleset=ruleset,
                database_url=url,
                store=store,
                edge=edge,
                copy=copy,
                blobs=open_blobs(settings, store),
                keys=keys,
                github=github,
                git=git,
                finder=SkillFinder(github, clock, git),
                limits=Limits(),
                clock=clock,
                popular_names=PopularNamesCache(),
            )


async def _prepare_database(store: Database, keys: SigningKeys) -> None:
    """Check the schema and register the signing keys, which every process needs."""
    await check_schema(store)
    async with store.begin() as db:
        await register_keys(db, keys.public)


async def _prepare_recovered_database(url: str, application: str, keys: SigningKeys) -> None:
    """Prepare a recovered database on a separate connection, because the circuit breaker blocks all others."""
    async with (
        open_database(url, PoolOptions(size=1, application=application)) as store,
        asyncio.timeout(PREPARE_SECONDS),
    ):
        await _prepare_database(store, keys)


@asynccontextmanager
async def connect_edge(settings: Settings) -> AsyncIterator[Edge]:
    """Yield the edge copy in the settings; it connects on first use."""
    edge = open_edge(settings.edge_url.get_secret_value(), settings.data_dir)
    try:
        yield edge
    finally:
        await edge.close()


def open_blobs(settings: Settings, store: Database) -> Blobs:
    """Return the blob store in the settings, or else a folder in the data directory."""
    if settings.blobs_url is not None:
        return Blobs(from_url(settings.blobs_url), record_in(store))
    folder = settings.data_dir / "blobs"
    return Blobs(LocalStore(str(folder), mkdir=True), record_in(store))


def record_in(store: Database) -> Recorder:
    """Return the function that records blobs before they are saved, those saved at the same time in one transaction."""

    async def record_all(blobs: Sequence[tuple[str, int]]) -> Sequence[None]:
        async with store.begin() as db:
            await record_blobs(db, dict(blobs))
        return [None] * len(blobs)

    batches = Batcher(record_all, at_most=MAX_RECORDED)

    async def record(digest: str, size_bytes: int) -> None:
        await batches.do((digest, size_bytes))

    return record


def key_files(settings: Settings) -> KeyFiles:
    folder = settings.data_dir / "keys"
    return KeyFiles(settings.hallmark_key_file or folder / "hallmark.pem", settings.oms_key_file or folder / "oms.pem")


def database_url(settings: Settings) -> str:
    """Return the configured database, or else the embedded one. Raises Unavailable if that is not running."""
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    return embedded_server(settings).url


def embedded_server(settings: Settings) -> EmbeddedServer:
    return EmbeddedServer(settings.data_dir / "postgres")


def read_rules(settings: Settings) -> Ruleset:
    """Read the built-in rules and those in the configured folder. Raises Invalid, naming setting, file and rule."""
    try:
        return read_ruleset(settings.ruleset)
    except Invalid as problem:
        raise Invalid(f"{variable_name('ruleset')}: {problem.message}", code="bad_setting") from None


@asynccontextmanager
async def connect_github(
    settings: Settings, session: aiohttp.ClientSession, clock: Clock, store: Database
) -> AsyncIterator[GitHub]:
    """Yield the GitHub client; rate limits and cached responses of tokens are shared with the other processes."""
    urls = GitHubUrls(settings.github_api_url, settings.github_raw_url, settings.github_codeload_url)

    def now() -> float:
        return clock.now().timestamp()

    identities = open_identities(settings.plain_github_tokens, settings.github_app, session, urls.api, now)
    budget, cache = TokenBudget(identities, now), ResponseCache()
    if identities:
        secret = settings.jwt_secret.get_secret_value() if settings.jwt_secret else ""
        budget = TokenBudget(identities, now, DatabaseBudgetStore(store, MAX_SHARE_CALLS, SHARE_DIVISOR), secret)
        cache = ResponseCache(DatabaseResponseStore(store))
    github = GitHub(session, urls, budget, cache)
    try:
        yield github
    finally:
        await github.close()


def open_claims_signer(settings: Settings) -> ClaimsSigner:
    """Return the signer of sessions. Raises Unavailable without a secret."""
    if settings.jwt_secret is None:
        raise Unavailable("Signing in is not possible, because ASSAY_JWT_SECRET is not set.", code="secret_missing")
    return ClaimsSigner(settings.jwt_secret.get_secret_value())


def open_github_sign_in(app: App) -> GitHubSignIn | None:
    """Return the sign-in with GitHub, if it is configured."""
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
