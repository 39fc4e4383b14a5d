"""Call budgets shared by processes."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack

import msgspec
import pytest
import structlog
from pydantic import SecretStr
from sqlalchemy import text

from assay.github.client import GitHub
from assay.github.shared_budget import MAX_SHARE_CALLS
from assay.model.errors import RateLimited, Unavailable
from assay.store.database.database import Database, open_database
from assay.store.repositories.call_budgets import count_refused
from tests.support.fake_github import FakeGitHub, FakeRepository, FakeServer, serve
from tests.support.github.clients import TOOLS, ManualClock, a_process
from tests.support.registry import open_registry
from tests.support.skills import a_repository
from tests.support.web.metrics import series
from tests.support.web.statements import statements

TOKENS = ("first-secret", "second-secret", "third-secret")


class Found(msgspec.Struct):
    """A search result."""

    total_count: int


@pytest.fixture
def tools(world: FakeGitHub) -> FakeRepository:
    return world.add_repository("acme/tools", a_repository("pdf"), stars=7)


@pytest.fixture
def server(world: FakeGitHub) -> Iterator[FakeServer]:
    with serve(world) as server:
        yield server


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Database]:
    async with open_database(database_url) as store:
        yield store


def over_budget(world: FakeGitHub) -> list[object]:
    """Return the calls GitHub refused."""
    return [call for call in world.calls if call.status in (403, 429)]


def charged(world: FakeGitHub) -> Counter[str | None]:
    """Return the calls of each token."""
    return Counter(call.token for call in world.calls if call.charged)


async def work_off(processes: list[GitHub], commit: str, works: int, clock: ManualClock) -> int:
    """Work through tasks in any process and return the number of waits."""
    waiting, waits = list(range(works)), 0

    async def work(github: GitHub) -> float | None:
        while waiting:
            piece = waiting.pop()
            try:
                await github.get_tree(TOOLS, commit)
            except RateLimited as limited:
                waiting.append(piece)
                return limited.retry_after_seconds
        return None

    while waiting:
        pauses = await asyncio.gather(*(work(github) for github in processes for _ in range(4)))
        if waiting:
            waits += 1
            clock.time += max(pause for pause in pauses if pause is not None)
    return waits


async def test_processes_stay_within_the_shared_budget(world, tools, server, clock, store) -> None:
    """G33: six processes, three tokens of 40 calls an hour, 300 calls."""
    for token in TOKENS:
        world.add_token(token, limit=40)
    async with AsyncExitStack() as stack:
        processes = [await stack.enter_async_context(a_process(server, clock, store, TOKENS)) for _ in range(6)]
        waits = await work_off(processes, tools.sha, 300, clock)
    assert over_budget(world) == []
    assert world.count("tree") == sum(charged(world).values()) == 300
    assert waits == 2
    assert set(charged(world)) == set(TOKENS)
    assert max(charged(world).values()) <= 3 * 40


async def test_calls_are_reserved_in_batches(world, tools, server, clock, store) -> None:
    """G33."""
    world.add_token(TOKENS[0])
    async with a_process(server, clock, store, TOKENS[:1]) as github:
        with statements(store) as made:
            for _ in range(200):
                await github.get_tree(TOOLS, tools.sha)
    assert len(made) <= 12


async def test_unused_calls_are_returned(world, tools, server, clock, store) -> None:
    world.add_token(TOKENS[0], limit=100)
    for _ in range(10):
        async with a_process(server, clock, store, TOKENS[:1]) as github:
            for _ in range(10):
                await github.get_tree(TOOLS, tools.sha)
    assert over_budget(world) == []
    assert world.count("tree") == 100


async def test_killed_process_strands_few_calls(world, tools, server, clock, store) -> None:
    """fifty at most, until the window ends."""
    world.add_token(TOKENS[0], limit=1_000)
    async with AsyncExitStack() as stack:
        killed = await stack.enter_async_context(a_process(server, clock, store, TOKENS[:1]))
        await killed.get_tree(TOOLS, tools.sha)
        async with a_process(server, clock, store, TOKENS[:1]) as other:
            while True:
                try:
                    await other.get_tree(TOOLS, tools.sha)
                except RateLimited:
                    break
            assert 1_000 - MAX_SHARE_CALLS + 1 == world.count("tree")
            clock.time += 3_600
            await other.get_tree(TOOLS, tools.sha)
    assert over_budget(world) == []


async def test_budget_metrics_hide_the_token(registry, github) -> None:
    """G33."""
    github.add_token(TOKENS[0], limit=100)
    tools = github.add_repository("acme/tools", a_repository("pdf"))
    given = {"github_tokens": (SecretStr(TOKENS[0]), SecretStr(TOKENS[1]))}
    with structlog.testing.capture_logs() as logs:
        async with open_registry(registry.app.settings.model_copy(update=given), github) as other:
            for _ in range(10):
                await other.app.github.get_tree(TOOLS, tools.sha)
            during = (await registry.client.get("/metrics")).text
        after = (await registry.client.get("/metrics")).text
    (refused,) = {each["token"] for each in logs if "GitHub rejected" in each["event"]}
    keys = {other.app.github.budget.key_of(each)[:8] for each in other.app.github.budget.identities()}
    labels = {f'resource="core",token="{key}"' for key in keys - {refused}}
    assert series(during, "assay_github_calls_left").keys() >= labels
    assert [series(during, "assay_github_calls_left")[label] for label in labels] == [75]
    assert [series(after, "assay_github_calls_left")[label] for label in labels] == [90]
    assert not [token for token in TOKENS if token in during + after]
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE github_allowance SET resets_at = now() - interval '1 second'"))
    assert series((await registry.client.get("/metrics")).text, "assay_github_calls_left") == {}


async def test_secondary_limit_applies_to_all_processes(world, tools, server, clock, store) -> None:
    """G34."""
    world.add_token(TOKENS[0])
    async with a_process(server, clock, store, TOKENS[:1]) as one, a_process(server, clock, store, TOKENS[:1]) as other:
        await other.get_repository(TOOLS)
        world.secondary_limit("repo", retry_after=30)
        with pytest.raises(RateLimited):
            await one.get_repository(TOOLS)
        clock.time += 3
        asked = world.count("repo")
        with pytest.raises(RateLimited) as raised:
            await other.get_repository(TOOLS)
        assert raised.value.retry_after_seconds == 27
        assert world.count("repo") == asked
        clock.time += 27
        assert (await other.get_repository(TOOLS)).stars == 7


async def test_refused_token_is_set_aside_by_all_and_never_named(world, tools, server, clock, store) -> None:
    """G33, G84."""
    world.add_token(TOKENS[1])
    with structlog.testing.capture_logs() as logs:
        async with a_process(server, clock, store, TOKENS[:2]) as one:
            assert (await one.get_repository(TOOLS)).stars == 7
        async with a_process(server, clock, store, TOKENS[:2]) as other:
            world.reset_calls()
            await other.get_head_commit(TOOLS)
    assert {call.token for call in world.calls} == {TOKENS[1]}
    assert "token 1 of 2" in str(logs)
    async with store.begin() as db:
        kept = str(
            [
                tuple(row)
                for table in ("github_token", "github_allowance", "github_answer")
                for row in await db.execute(text(f"SELECT * FROM {table}"))
            ]
        )
        await db.execute(text("UPDATE github_token SET refused_until = now() + interval '1 hour'"))
        assert await count_refused(db) == 1
    assert not [token for token in TOKENS if token in kept + str(logs)]


async def test_resources_have_separate_budgets(world, tools, server, clock, store) -> None:
    world.add_token(TOKENS[0], search_limit=2, code_search_limit=1)
    async with a_process(server, clock, store, TOKENS[:1]) as github:
        found = f"{github.urls.api}/search/repositories?q=tools"
        for _ in range(2):
            await github.get(found, Found, cached=False)
        with pytest.raises(RateLimited) as raised:
            await github.get(found, Found, cached=False)
        assert raised.value.retry_after_seconds <= 60
        await github.get(f"{github.urls.api}/search/code?q=filename:SKILL.md", Found, cached=False)
        await github.get_tree(TOOLS, tools.sha)
        clock.time += 60
        await github.get(found, Found, cached=False)
    assert over_budget(world) == []


async def test_external_use_of_a_token_is_noticed(world, tools, server, clock, store) -> None:
    world.add_token(TOKENS[0], limit=100)
    async with a_process(server, clock, store, TOKENS[:1]) as one, a_process(server, clock, store, TOKENS[:1]) as other:
        await one.get_tree(TOOLS, tools.sha)
        world.limits.allowance(TOKENS[0], "").core.used = 100
        for github in (one, other):
            with pytest.raises(RateLimited):
                while True:
                    await github.get_tree(TOOLS, tools.sha)
    assert len(over_budget(world)) == 1


async def test_budget_without_the_database(world, tools, server, clock, store) -> None:
    """G33: falls back to GitHub's headers."""
    world.add_token(TOKENS[0], limit=30)
    async with a_process(server, clock, store, TOKENS[:1]) as github:
        await github.get_tree(TOOLS, tools.sha)
        store.breaker.is_open = True
        for _ in range(29):
            await github.get_tree(TOOLS, tools.sha)
        with pytest.raises(RateLimited):
            await github.get_tree(TOOLS, tools.sha)
        with pytest.raises(Unavailable):
            async with store.begin():
                pass
    assert over_budget(world) == []


async def test_cached_responses_are_shared(world, tools, server, clock, store) -> None:
    """G35."""
    world.add_token(TOKENS[0])
    async with a_process(server, clock, store, TOKENS[:1]) as one:
        await one.get_repository(TOOLS)
    world.reset_calls()
    async with a_process(server, clock, store, TOKENS[:1]) as other:
        assert (await other.get_repository(TOOLS)).stars == 7
        tools.stars = 8
        assert (await other.get_repository(TOOLS)).stars == 8
    assert [call.status for call in world.calls if call.route == "repo"] == [304, 200]
