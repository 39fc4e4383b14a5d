"""Fixtures shared by all tests: one PostgreSQL per test process, and a fresh database for each test."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
import structlog
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from assay.scan.ruleset import load_ruleset
from assay.scan_pool.saved_engine import user_cache_folder, with_saved_engine
from assay.settings import Settings
from assay.store.database.database import open_database
from assay.store.database.embedded import EmbeddedServer
from assay.store.database.migrate import migrate
from tests.support.fake_github import FakeGitHub, FakeServer, serve
from tests.support.limits import HIGH_LIMITS
from tests.support.process_guard import STARTED
from tests.support.registry import SECRET, Registry, open_registry
from tests.support.scratch import scratch

# Generation time depends on the machine, not on the code under test.
hypothesis_settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("patient")

# structlog's default tracebacks print every local variable, which takes seconds.
structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.processors.format_exc_info,
        structlog.processors.KeyValueRenderer(),
    ]
)
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=400", "max_wal_size=256MB")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--storm-rounds", type=int, default=2, help="rounds of tests/faults/test_agreement.py")
    parser.addoption("--storm-seed", type=int, default=7, help="random seed of tests/faults/test_agreement.py")


def pytest_configure(config: pytest.Config) -> None:
    """Start one server per test process: an open transaction delays the change feed of a whole server."""
    if hasattr(config, "workerinput"):
        return
    config.assay_folder = scratch("assay-tests-")  # type: ignore[attr-defined]
    config.assay_servers = []  # type: ignore[attr-defined]
    if not config.pluginmanager.hasplugin("dsession"):
        config.assay_url = _start_server(config)  # type: ignore[attr-defined]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run tests marked `slow` first: xdist gives a whole file to one process, and a long file must not start last."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_configure_node(node: Any) -> None:
    """Start a server for a worker of xdist and pass it the address."""
    node.workerinput["postgres_url"] = _start_server(node.config)


def pytest_unconfigure(config: pytest.Config) -> None:
    for server in getattr(config, "assay_servers", ()):
        server.stop()
    if hasattr(config, "assay_folder"):
        shutil.rmtree(config.assay_folder)


def _start_server(config: Any) -> str:
    server = EmbeddedServer(config.assay_folder / f"postgres-{len(config.assay_servers)}")
    server.start(FAST)
    config.assay_servers.append(server)
    asyncio.run(_migrate(server.url))
    return server.url


async def _migrate(url: str) -> None:
    async with open_database(url) as store:
        await migrate(store)


@pytest.fixture(autouse=True)
def process_guard(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that starts a process of Assay without the marker `process`: `make check` leaves those out."""
    started_before = len(STARTED)
    yield
    if not any(request.node.get_closest_marker(name) for name in ("process", "browser")):
        assert STARTED[started_before:] == [], "Mark this test with @pytest.mark.process."


@pytest.fixture(scope="session", autouse=True)
def saved_engine() -> None:
    """Share the compiled pattern database of the scan processes; compiling it takes seconds."""
    rules = load_ruleset()
    object.__setattr__(rules, "engine", with_saved_engine(rules, user_cache_folder()).engine)


@pytest.fixture(scope="session")
def postgres_url(request: pytest.FixtureRequest) -> str:
    """Return the URL of the template database."""
    workerinput = getattr(request.config, "workerinput", None)
    return workerinput["postgres_url"] if workerinput else request.config.assay_url


@pytest.fixture
async def database_url(postgres_url: str) -> AsyncIterator[str]:
    """Create a database for one test."""
    name = f"test_{uuid4().hex}"
    admin = await asyncpg.connect(postgres_url.replace("/assay?", "/postgres?"))
    await admin.execute(f"CREATE DATABASE {name} TEMPLATE assay STRATEGY FILE_COPY")
    yield postgres_url.replace("/assay?", f"/{name}?")
    await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await admin.close()


@pytest.fixture
def data_folder() -> Iterator[Path]:
    """Create a folder for an embedded PostgreSQL."""
    folder = scratch("assay-data-")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def github() -> FakeGitHub:
    """Return a fake GitHub without repositories and with a high rate limit."""
    return FakeGitHub(anonymous_limit=100_000)


@pytest.fixture
def github_server(github: FakeGitHub) -> Iterator[FakeServer]:
    """Serve the fake GitHub on loopback."""
    with serve(github) as server:
        yield server


@pytest.fixture
def settings(database_url: str, github_server: FakeServer, tmp_path: Path) -> Settings:
    """Return settings for a registry on the test's own database and GitHub."""
    return Settings.from_mapping(
        {
            "ASSAY_DATA_DIR": str(tmp_path / "data"),
            "ASSAY_DATABASE_URL": database_url,
            "ASSAY_INTERNAL_KEY": SECRET,
            "ASSAY_JWT_SECRET": SECRET,
            "ASSAY_WEBHOOK_SECRET": SECRET,
            "ASSAY_RETRY_SECONDS": "0",
            "ASSAY_LEASE_SECONDS": "2",
            **HIGH_LIMITS,
            **github_server.urls(),
        }
    )


@pytest.fixture
async def registry(settings: Settings, github: FakeGitHub) -> AsyncIterator[Registry]:
    async with open_registry(settings, github) as opened:
        yield opened
