"""Clients of the fake GitHub, and a clock that tests control."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import aiohttp
import pytest

from assay.github.auth import GitHubAuth, Identity
from assay.github.client import GitHub, GitHubUrls
from assay.github.response_cache import ResponseCache
from assay.github.shared_budget import MAX_SHARE_CALLS, SHARE_DIVISOR
from assay.github.token_budget import TokenBudget
from assay.model.errors import AssayError
from assay.model.repository import Host, RepositoryName
from assay.store.database.database import Database
from assay.store.repositories.cached_responses import DatabaseResponseStore
from assay.store.repositories.call_budgets import DatabaseBudgetStore
from tests.support.fake_github import FakeServer

TOOLS = RepositoryName(Host.GITHUB, "acme", "tools")
SECRET = "the secret of this installation"


class ManualClock:
    """A clock that tests set, shared by the fake and the client."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time


def urls_of(server: FakeServer) -> GitHubUrls:
    urls = server.urls()
    return GitHubUrls(*(urls[f"ASSAY_GITHUB_{host}_URL"] for host in ("API", "RAW", "CODELOAD")))


@asynccontextmanager
async def a_client(server: FakeServer, clock: Callable[[], float], *tokens: str) -> AsyncIterator[GitHub]:
    async with aiohttp.ClientSession(headers={"User-Agent": "assay-test"}) as session:
        yield GitHub(session, urls_of(server), TokenBudget(tuple(map(GitHubAuth, tokens)), clock))


async def download(client: GitHub, commit: str) -> bytes:
    async with client.open_archive(TOOLS, commit) as stream:
        return await stream.read()


async def error_of(client: GitHub, kind: type[AssayError]) -> AssayError:
    """Return the error of looking up the repository; it must be exactly of this type."""
    with pytest.raises(kind) as raised:
        await client.get_repository(TOOLS)
    assert type(raised.value) is kind
    return raised.value


@asynccontextmanager
async def a_process(
    server: FakeServer, clock: Callable[[], float], store: Database, identities: Sequence[Identity | str]
) -> AsyncIterator[GitHub]:
    """Open a client as one process has it: its own connections, budget and cache, on a shared database."""
    known = tuple(GitHubAuth(each) if isinstance(each, str) else each for each in identities)
    async with aiohttp.ClientSession(headers={"User-Agent": "assay-test"}) as session:
        budget = TokenBudget(known, clock, DatabaseBudgetStore(store, MAX_SHARE_CALLS, SHARE_DIVISOR), SECRET)
        github = GitHub(session, urls_of(server), budget, ResponseCache(DatabaseResponseStore(store)))
        yield github
        await github.close()
