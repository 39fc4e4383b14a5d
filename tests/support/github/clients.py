"""Clients of the fake GitHub, with a clock that tests move."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import aiohttp
import pytest

from assay.github.auth import GitHubAuth, Identity
from assay.github.budget import TokenBudget
from assay.github.client import GitHub, GitHubUrls
from assay.github.response_cache import Answers
from assay.github.shared_budget import MOST_CALLS, PART
from assay.model.errors import AssayError
from assay.model.repository import Host, RepositoryName
from assay.store.database.database import Database
from assay.store.repositories.cached_responses import AnswerShelf
from assay.store.repositories.call_budgets import AllowanceBook
from tests.support.fake_github import FakeServer

TOOLS = RepositoryName(Host.GITHUB, "acme", "tools")
SECRET = "the secret of this installation"


class HandClock:
    """A clock that tests move, for GitHub and for us."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time


def urls_of(server: FakeServer) -> GitHubUrls:
    """Where the fake's services are."""
    urls = server.urls()
    return GitHubUrls(*(urls[f"ASSAY_GITHUB_{host}_URL"] for host in ("API", "RAW", "CODELOAD")))


@asynccontextmanager
async def a_client(server: FakeServer, clock: Callable[[], float], *tokens: str) -> AsyncIterator[GitHub]:
    """A client with these tokens."""
    async with aiohttp.ClientSession(headers={"User-Agent": "assay-test"}) as session:
        yield GitHub(session, urls_of(server), TokenBudget(tuple(map(GitHubAuth, tokens)), clock))


async def download(client: GitHub, commit: str) -> bytes:
    """The archive of a commit."""
    async with client.open_archive(TOOLS, commit) as stream:
        return await stream.read()


async def error_of(client: GitHub, kind: type[AssayError]) -> AssayError:
    """What looking the repository up ends with."""
    with pytest.raises(kind) as raised:
        await client.get_repository(TOOLS)
    assert type(raised.value) is kind
    return raised.value


@asynccontextmanager
async def a_process(
    server: FakeServer, clock: Callable[[], float], store: Database, identities: Sequence[Identity | str]
) -> AsyncIterator[GitHub]:
    """What one process has: connections, a budget and a memory of its own, on the database of all."""
    known = tuple(GitHubAuth(each) if isinstance(each, str) else each for each in identities)
    async with aiohttp.ClientSession(headers={"User-Agent": "assay-test"}) as session:
        budget = TokenBudget(known, clock, AllowanceBook(store, MOST_CALLS, PART), SECRET)
        github = GitHub(session, urls_of(server), budget, Answers(AnswerShelf(store)))
        yield github
        await github.close()
