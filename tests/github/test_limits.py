"""Rate limits of tokens, and rotation."""

import asyncio

import pytest
from aiohttp import web

from assay.github.client import GitHub, GitHubUrls
from assay.github.session import open_session
from assay.github.token_budget import TokenBudget
from assay.model.errors import RateLimited, Unavailable
from tests.support.github.clients import TOOLS, a_client, download, error_of

HOUR = 3600


# Limits


async def test_exhausted_limit_reports_its_reset(world, tools, clock, client) -> None:
    """G34: no request until then."""
    world.limit_anonymous(2)
    await client.get_repository(TOOLS)
    await client.get_head_commit(TOOLS)
    clock.time += 100
    error = await error_of(client, RateLimited)
    assert error.retry_after_seconds == HOUR - 100
    calls = world.count()
    await error_of(client, RateLimited)
    assert world.count() == calls
    clock.time += HOUR
    assert (await client.get_repository(TOOLS)).stars == 7


@pytest.mark.parametrize("status", [403, 429])
async def test_limit_exhausted_elsewhere_is_recognised(world, tools, client, clock, status) -> None:
    """G34: also on the first response."""
    world.exhausted_status = status
    world.limit_anonymous(0)
    error = await error_of(client, RateLimited)
    assert error.retry_after_seconds == HOUR
    assert "rate limit" in error.message


async def test_secondary_limit_honours_retry_after(world, tools, client, clock) -> None:
    """G34."""
    world.secondary_limit("repo", retry_after=17)
    assert (await error_of(client, RateLimited)).retry_after_seconds == 17
    clock.time += 16
    assert (await error_of(client, RateLimited)).retry_after_seconds == 1
    assert world.count() == 1
    clock.time += 1
    assert (await client.get_repository(TOOLS)).stars == 7


async def test_secondary_limit_without_a_time_waits_a_minute(world, tools, client) -> None:
    world.secondary_limit("repo", retry_after=None)
    assert (await error_of(client, RateLimited)).retry_after_seconds == 60


async def test_retry_after_is_honoured_on_any_status(world, tools, client, clock) -> None:
    """G34."""
    world.fail("repo", 503, retry_after=90)
    assert (await error_of(client, RateLimited)).retry_after_seconds == 90
    clock.time += 90
    world.fail("repo", 503)
    assert (await error_of(client, Unavailable)).code == "github_unavailable"


async def test_concurrent_connections_are_limited(clock) -> None:
    """G33: 64 for two hundred submissions."""
    at_once = most = 0

    async def handle(_: web.Request) -> web.Response:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.05)
        at_once -= 1
        return web.Response(text="x")

    app = web.Application()
    app.router.add_get("/{path:.*}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        async with open_session() as session:
            github = GitHub(session, GitHubUrls(url, url, url), TokenBudget((), clock))
            asked = (github.get_raw_file(TOOLS, "HEAD", f"{number}.md", at_most=9) for number in range(200))
            assert [b"x"] * 200 == await asyncio.gather(*asked)
    finally:
        await runner.cleanup()
    assert most == 64


async def test_429_on_raw_files_or_archives_is_a_limit(world, tools, server, clock) -> None:
    """G34."""
    world.fail("raw", 429, retry_after=5)
    world.fail("archive", 429)
    async with a_client(server, clock) as client:
        with pytest.raises(RateLimited) as raised:
            await client.get_raw_file(TOOLS, tools.sha, "skills/pdf/SKILL.md", at_most=1000)
        assert raised.value.retry_after_seconds == 5
    async with a_client(server, clock) as client:
        with pytest.raises(RateLimited) as raised:
            await download(client, tools.sha)
        assert raised.value.retry_after_seconds == 60


async def test_raw_files_do_not_use_the_api_budget(world, tools, client) -> None:
    world.limit_anonymous(2)
    await client.get_repository(TOOLS)
    await client.get_head_commit(TOOLS)
    for _ in range(5):
        await client.get_raw_file(TOOLS, tools.sha, "skills/pdf/SKILL.md", at_most=1000)
    await error_of(client, RateLimited)
    await client.get_raw_file(TOOLS, tools.sha, "skills/pdf/SKILL.md", at_most=1000)


# Several tokens


async def test_exhausted_token_is_replaced(world, tools, server, clock) -> None:
    """G33: then the earliest reset is waited for."""
    world.add_token("empty", limit=10, used=10)
    world.add_token("full", limit=3)
    async with a_client(server, clock, "empty", "full") as client:
        assert (await client.get_repository(TOOLS)).stars == 7
        assert [(call.token, call.status) for call in world.calls] == [("empty", 403), ("full", 200)]
        clock.time += 600
        await client.get_head_commit(TOOLS)
        await client.get_tree(TOOLS, tools.sha)
        assert {call.token for call in world.calls[2:]} == {"full"}
        error = await error_of(client, RateLimited)
        assert error.retry_after_seconds == HOUR - 600


async def test_token_with_most_calls_left_is_used(world, tools, server, clock) -> None:
    """G33."""
    world.add_token("low", limit=20)
    world.add_token("high", limit=5000)
    async with a_client(server, clock, "low", "high") as client:
        for _ in range(2):
            await client.get_tree(TOOLS, tools.sha)
        world.reset_calls()
        for _ in range(10):
            await client.get_tree(TOOLS, tools.sha)
    assert {call.token for call in world.calls} == {"high"}


async def test_unknown_tokens_share_the_first_burst(world, tools, server, clock) -> None:
    for token in ("one", "two", "three"):
        world.add_token(token)
    world.latency("tree", 0.05)
    async with a_client(server, clock, "one", "two", "three") as client:
        await asyncio.gather(*(client.get_tree(TOOLS, tools.sha) for _ in range(30)))
    used = [call.token for call in world.calls]
    assert {used.count(token) for token in ("one", "two", "three")} == {10}


async def test_revoked_token_is_replaced(world, tools, server, clock) -> None:
    """at the cost of one call."""
    world.add_token("revoked")
    world.add_token("good")
    world.revoke_token("revoked")
    async with a_client(server, clock, "revoked", "good") as client:
        assert (await client.get_repository(TOOLS)).stars == 7
        await client.get_head_commit(TOOLS)
        await client.get_tree(TOOLS, tools.sha)
    assert [(call.token, call.status) for call in world.calls] == [
        ("revoked", 401),
        ("good", 200),
        ("good", 200),
        ("good", 200),
    ]


async def test_revoked_token_is_replaced_for_raw_files(world, tools, server, clock) -> None:
    world.add_token("revoked")
    world.add_token("good")
    async with a_client(server, clock, "revoked", "good") as client:
        world.fail("raw", 401)
        assert await client.get_raw_file(TOOLS, tools.sha, "skills/pdf/SKILL.md", at_most=1000)
    assert [call.token for call in world.calls] == ["revoked", "good"]


async def test_only_invalid_tokens_is_an_operator_error(world, tools, server, clock) -> None:
    """G36."""
    async with a_client(server, clock, "misspelt", "revoked") as client:
        assert (await error_of(client, Unavailable)).code == "github_bad_token"
        assert world.count() == 2
        assert (await error_of(client, Unavailable)).code == "github_bad_token"
        assert world.count() == 2
        world.add_token("revoked")
        clock.time += HOUR
        assert (await client.get_repository(TOOLS)).stars == 7
