"""What every process holds, from the settings."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from obstore.store import LocalStore, from_url

from assay.app.database import database_url
from assay.app.github import opened_github
from assay.app.keys import KeyFiles, open_keys
from assay.app.rules import rules_of
from assay.blobs.blobs import Blobs
from assay.certify.keys import SigningKeys
from assay.edge.kv import Edge
from assay.edge.open import open_edge
from assay.fetch.limits import Limits
from assay.git.client import Git
from assay.github.client import GitHub
from assay.github.session import open_session
from assay.model.clock import Clock
from assay.model.errors import Unavailable
from assay.scan.ruleset import Ruleset
from assay.serve.operations.edge_copy import PublishedCopy
from assay.settings import Settings
from assay.store.database.database import Database, PoolOptions, open_database
from assay.store.database.migrate import check_schema
from assay.store.versions.keys import register_keys
from assay.submit.repository import SkillFinder

# How often a process looks whether the database still answers, if nobody has noticed otherwise.
WATCH_SECONDS = 2
# How long a database that has come back may take to say what is in it.
ENTER_SECONDS = 10


@dataclass(frozen=True)
class App:
    """What every process holds: settings, rules, the database and its copy at the edge, blobs, signing key, time."""

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


@asynccontextmanager
async def open_app(
    settings: Settings, *, application: str, clock: Clock | None = None, may_wait: bool = False
) -> AsyncIterator[App]:
    """Open everything, or raise an error that says what is missing.

    Whoever `may_wait` is also opened while the database is away, and works without it until it is there.
    """
    ruleset = rules_of(settings)
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
                ruleset=ruleset,
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
