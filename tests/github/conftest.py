"""A fake GitHub with one repository, and a client."""

from collections.abc import AsyncIterator, Iterator

import pytest

from assay.github.client import GitHub
from tests.support.fake_github import FakeGitHub, FakeRepository, FakeServer, serve
from tests.support.github.clients import ManualClock, a_client
from tests.support.skills import a_repository


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def world(clock: ManualClock) -> FakeGitHub:
    return FakeGitHub(now=clock)


@pytest.fixture
def tools(world: FakeGitHub) -> FakeRepository:
    return world.add_repository("Acme/Tools", a_repository("pdf"), default_branch="trunk", stars=7)


@pytest.fixture
def server(world: FakeGitHub) -> Iterator[FakeServer]:
    with serve(world) as server:
        yield server


@pytest.fixture
async def client(server: FakeServer, clock: ManualClock) -> AsyncIterator[GitHub]:
    """Return an anonymous client."""
    async with a_client(server, clock) as client:
        yield client
