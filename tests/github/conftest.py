"""A fake GitHub with one repository, and a client of it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from assay.github.client import GitHub
from tests.support.fake_github import FakeGitHub, FakeRepository, FakeServer, serve
from tests.support.github.clients import HandClock, a_client
from tests.support.skills import a_repository


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def world(clock: HandClock) -> FakeGitHub:
    return FakeGitHub(now=clock)


@pytest.fixture
def tools(world: FakeGitHub) -> FakeRepository:
    return world.add_repository("Acme/Tools", a_repository("pdf"), default_branch="trunk", stars=7)


@pytest.fixture
def server(world: FakeGitHub) -> Iterator[FakeServer]:
    with serve(world) as server:
        yield server


@pytest.fixture
async def client(server: FakeServer, clock: HandClock) -> AsyncIterator[GitHub]:
    """A client without a token."""
    async with a_client(server, clock) as client:
        yield client
