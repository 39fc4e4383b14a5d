"""The real parts, started once a run: a PostgreSQL for each process, and a fresh database of it for each test."""

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
from assay.store.database.embedded import Server
from assay.store.database.migrate import migrate
from tests.support.fake_github import FakeGitHub, FakeServer, serve
from tests.support.registry import SECRET, Registry, open_registry
from tests.support.scratch import scratch

# How long it takes to think of an example says something about the machine and nothing about the code.
hypothesis_settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("patient")

# Plain lines: the pretty tracebacks of structlog show every local variable, which takes seconds.
structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.processors.format_exc_info,
        structlog.processors.KeyValueRenderer(),
    ]
)
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=400", "max_wal_size=256MB")
# A file is worked on by one process, so that the longest come first: else one of them is left when all others are done.
LONGEST = (
    "tests/test_benchmarks.py",
    "tests/web/test_schemathesis.py",
    "tests/scan/test_hostile.py",
    "tests/cli/test_up.py",
    "tests/deepscan/test_tools.py",
    "tests/scan/match/test_engines.py",
    "tests/scan/flow/test_shell.py",
    "tests/faults/test_outage.py",
    "tests/faults/test_agreement.py",
    "tests/faults/test_killed_scanners.py",
    "tests/faults/test_consistent_numbers.py",
    "tests/faults/test_memory.py",
    "tests/journeys/test_many_listeners.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """How long and how the storm of tests/faults/test_agreement.py blows, for whoever wants more of it."""
    parser.addoption("--storm-rounds", type=int, default=2, help="rounds of the storm over a catalogue")
    parser.addoption("--storm-seed", type=int, default=7, help="what the writers of the storm choose by")


def pytest_configure(config: pytest.Config) -> None:
    """Whoever runs tests has a server of their own: a transaction of one test holds back the feeds of a whole server."""
    if hasattr(config, "workerinput"):
        return
    config.assay_folder = scratch("assay-tests-")  # type: ignore[attr-defined]
    config.assay_servers = []  # type: ignore[attr-defined]
    if not config.pluginmanager.hasplugin("dsession"):
        config.assay_url = _start_server(config)  # type: ignore[attr-defined]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, all others as they come."""
    places = {file: place for place, file in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.location[0], len(LONGEST)))


def pytest_configure_node(node: Any) -> None:
    """xdist: start a server for a worker, and hand it the address."""
    node.workerinput["postgres_url"] = _start_server(node.config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop what was started."""
    for server in getattr(config, "assay_servers", ()):
        server.stop()
    if hasattr(config, "assay_folder"):
        shutil.rmtree(config.assay_folder)


def _start_server(config: Any) -> str:
    server = Server(config.assay_folder / f"postgres-{len(config.assay_servers)}")
    server.start(FAST)
    config.assay_servers.append(server)
    asyncio.run(_migrate(server.url))
    return server.url


async def _migrate(url: str) -> None:
    async with open_database(url) as store:
        await migrate(store)


@pytest.fixture(scope="session", autouse=True)
def saved_engine() -> None:
    """Tests that scan in this process do so on the engine that scan processes have kept: to make it takes long."""
    rules = load_ruleset()
    object.__setattr__(rules, "engine", with_saved_engine(rules, user_cache_folder()).engine)


@pytest.fixture(scope="session")
def postgres_url(request: pytest.FixtureRequest) -> str:
    """The database that all others are copied from."""
    workerinput = getattr(request.config, "workerinput", None)
    return workerinput["postgres_url"] if workerinput else request.config.assay_url


@pytest.fixture
async def database_url(postgres_url: str) -> AsyncIterator[str]:
    """A database of its own for one test."""
    name = f"test_{uuid4().hex}"
    admin = await asyncpg.connect(postgres_url.replace("/assay?", "/postgres?"))
    await admin.execute(f"CREATE DATABASE {name} TEMPLATE assay STRATEGY FILE_COPY")
    yield postgres_url.replace("/assay?", f"/{name}?")
    await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await admin.close()


@pytest.fixture
def data_folder() -> Iterator[Path]:
    """A folder for an embedded PostgreSQL."""
    folder = scratch("assay-data-")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def github() -> FakeGitHub:
    """A GitHub with no repositories yet, and enough calls for everybody."""
    return FakeGitHub(anonymous_limit=100_000)


@pytest.fixture
def github_server(github: FakeGitHub) -> Iterator[FakeServer]:
    """The same, answering on loopback."""
    with serve(github) as server:
        yield server


@pytest.fixture
def settings(database_url: str, github_server: FakeServer, tmp_path: Path) -> Settings:
    """Settings of a registry on the test's own database and GitHub."""
    return Settings.from_mapping(
        {
            "ASSAY_DATA_DIR": str(tmp_path / "data"),
            "ASSAY_DATABASE_URL": database_url,
            "ASSAY_INTERNAL_KEY": SECRET,
            "ASSAY_JWT_SECRET": SECRET,
            "ASSAY_WEBHOOK_SECRET": SECRET,
            "ASSAY_RETRY_SECONDS": "0",
            "ASSAY_LEASE_SECONDS": "2",
            **github_server.urls(),
        }
    )


@pytest.fixture
async def registry(settings: Settings, github: FakeGitHub) -> AsyncIterator[Registry]:
    """A registry under test."""
    async with open_registry(settings, github) as opened:
        yield opened
