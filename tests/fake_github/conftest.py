"""A fake GitHub with one repository, and a client."""

from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest

from tests.support.fake_github import FakeFile, FakeGitHub, FakeServer, serve
from tests.support.github.clients import ManualClock
from tests.support.github.plain_client import SKILL, PlainClient


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def world(clock: ManualClock) -> FakeGitHub:
    world = FakeGitHub(now=clock)
    world.add_token("good")
    return world


@pytest.fixture
def server(world: FakeGitHub) -> Iterator[FakeServer]:
    with serve(world) as server:
        yield server


@pytest.fixture
async def visitor(server: FakeServer) -> AsyncIterator[PlainClient]:
    async with aiohttp.ClientSession() as session:
        yield PlainClient(server.base_url, session)


@pytest.fixture
def tools(world: FakeGitHub):
    files = {
        "README.md": "# Tools",
        "skills/pdf/SKILL.md": SKILL,
        "skills/pdf/run.py": FakeFile(b"1", "100755"),
    }
    return world.add_repository("acme/tools", files, default_branch="trunk", stars=12, topics=("agent-skills",))
