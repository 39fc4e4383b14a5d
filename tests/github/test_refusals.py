"""Errors of GitHub: a rate limit is never an absence."""

import aiohttp
import pytest

from assay.github.client import LARGEST_JSON_BYTES
from assay.model.errors import NotFound, Refused, Unavailable
from tests.support.fake_github import FakeServer
from tests.support.github.clients import TOOLS, a_client, download, error_of
from tests.support.skills import a_repository


async def test_missing_repository_is_not_found(client) -> None:
    assert (await error_of(client, NotFound)).code == "source_not_found"


async def test_private_repository_is_not_found(world, client) -> None:
    world.add_repository("acme/tools", a_repository("pdf"), private=True)
    assert (await error_of(client, NotFound)).code == "source_not_found"


async def test_empty_repository_is_reported_as_empty(world, client) -> None:
    world.add_repository("acme/tools")
    await client.get_repository(TOOLS)
    with pytest.raises(NotFound) as raised:
        await client.get_head_commit(TOOLS)
    assert raised.value.code == "source_empty"
    assert "empty" in raised.value.message


async def test_repository_taken_down_has_its_own_reason(tools, client) -> None:
    """451."""
    tools.blocked = True
    assert (await error_of(client, NotFound)).code == "source_taken_down"


@pytest.mark.parametrize("status", [500, 502, 503, 504, 400, 418, 204, 206, 300, 303])
async def test_other_responses_are_unknown(world, tools, client, status) -> None:
    """G36: only 404 is absence, only 200 is success."""
    world.fail("repo", status)
    assert (await error_of(client, Unavailable)).code == "github_unavailable"
    assert (await client.get_repository(TOOLS)).stars == 7


async def test_403_is_neither_a_limit_nor_an_absence(world, tools, client) -> None:
    """G36."""
    world.fail("repo", 403)
    assert (await error_of(client, Refused)).code == "github_forbidden"
    assert (await client.get_repository(TOOLS)).stars == 7


async def test_410_has_its_own_reason(world, tools, client) -> None:
    world.fail("repo", 410)
    assert (await error_of(client, NotFound)).code == "source_gone"


@pytest.mark.parametrize("status", [303, 206, 500])
async def test_raw_file_requires_success(world, tools, client, status) -> None:
    world.fail("raw", status, body="<html>")
    with pytest.raises(Unavailable):
        await client.get_raw_file(TOOLS, tools.sha, "skills/pdf/SKILL.md", at_most=1000)


@pytest.mark.parametrize("body", ["", "not json", "[]", "null", '{"id": "x"}', '{"id": 1}', b"\xff\xfe", "[" * 100_000])
async def test_malformed_response_is_unknown(world, tools, client, body) -> None:
    """G36: and not cached."""
    world.fail("repo", 200, body=body)
    assert (await error_of(client, Unavailable)).code == "github_unavailable"
    assert (await client.get_repository(TOOLS)).stars == 7


async def test_dropped_connection_is_unknown(world, tools, client) -> None:
    """G36."""
    world.drop_connection("repo", after_bytes=10)
    await error_of(client, Unavailable)
    world.drop_connection("repo", times=None)
    await error_of(client, Unavailable)
    world.drop_connection("archive", after_bytes=10)
    with pytest.raises(Unavailable):
        await download(client, tools.sha)
    world.drop_connection("raw", times=None)
    with pytest.raises(Unavailable):
        await client.get_raw_file(TOOLS, tools.sha, "skills/pdf/SKILL.md", at_most=1000)


async def test_unreachable_server_is_unknown(clock) -> None:
    """G36."""
    async with a_client(FakeServer("http://127.0.0.1:1"), clock) as client:
        assert (await error_of(client, Unavailable)).code == "github_unavailable"


async def test_timeout_is_unknown(world, tools, server, clock) -> None:
    """G36."""
    world.latency("repo", 30)
    async with (
        a_client(server, clock) as client,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=0.05), headers={"User-Agent": "assay-test"}) as hasty,
    ):
        client.session = hasty
        assert (await error_of(client, Unavailable)).code == "github_unavailable"


async def test_oversized_response_is_rejected(world, tools, client) -> None:
    """G39."""
    world.fail("repo", 200, body=b"[" + b" " * LARGEST_JSON_BYTES + b"]")
    assert (await error_of(client, Unavailable)).code == "too_large"


async def test_raw_file_size_is_limited(world, client) -> None:
    """G39: exactly the limit is accepted."""
    repository = world.add_repository("acme/tools", {"SKILL.md": "x" * 1000})
    assert len(await client.get_raw_file(TOOLS, repository.sha, "SKILL.md", at_most=1000)) == 1000
    with pytest.raises(Unavailable) as raised:
        await client.get_raw_file(TOOLS, repository.sha, "SKILL.md", at_most=999)
    assert raised.value.code == "too_large"
