"""What each refusal of GitHub means: nobody can mistake a limit for an absence."""

import aiohttp
import pytest

from assay.github.client import LARGEST_JSON_BYTES
from assay.model.errors import NotFound, Refused, Unavailable
from tests.support.fake_github import FakeServer
from tests.support.github.clients import TOOLS, a_client, download, error_of
from tests.support.skills import a_repository


async def test_a_repository_that_is_not_there_is_not_found(client) -> None:
    """Deleted, private or never there: GitHub does not say which."""
    assert (await error_of(client, NotFound)).code == "source_not_found"


async def test_a_private_repository_is_not_found(world, client) -> None:
    """Without a token that may see it."""
    world.add_repository("acme/tools", a_repository("pdf"), private=True)
    assert (await error_of(client, NotFound)).code == "source_not_found"


async def test_an_empty_repository_is_there_but_has_nothing(world, client) -> None:
    """409 from GitHub; its author learns that it is empty."""
    world.add_repository("acme/tools")
    await client.get_repository(TOOLS)
    with pytest.raises(NotFound) as raised:
        await client.get_head_commit(TOOLS)
    assert raised.value.code == "source_empty"
    assert "empty" in raised.value.message


async def test_a_repository_taken_down_is_said_to_be(tools, client) -> None:
    """451 is its own reason."""
    tools.blocked = True
    assert (await error_of(client, NotFound)).code == "source_taken_down"


@pytest.mark.parametrize("status", [500, 502, 503, 504, 400, 418, 204, 206, 300, 303])
async def test_every_other_answer_is_unknown_not_gone(world, tools, client, status) -> None:
    """G36: only a plain no is a no; and only 200 is a yes."""
    world.fail("repo", status)
    assert (await error_of(client, Unavailable)).code == "github_unavailable"
    assert (await client.get_repository(TOOLS)).stars == 7


async def test_a_refusal_to_show_something_is_neither_a_limit_nor_an_absence(world, tools, client) -> None:
    """G36: 403 with calls left; asked again later, it may be different."""
    world.fail("repo", 403)
    assert (await error_of(client, Refused)).code == "github_forbidden"
    assert (await client.get_repository(TOOLS)).stars == 7


async def test_what_is_gone_for_good_is_said_to_be(world, tools, client) -> None:
    """410 is its own reason."""
    world.fail("repo", 410)
    assert (await error_of(client, NotFound)).code == "source_gone"


@pytest.mark.parametrize("status", [303, 206, 500])
async def test_a_raw_file_is_taken_from_nothing_but_success(world, tools, client, status) -> None:
    """The body of an odd answer must not become the content of a file."""
    world.fail("raw", status, body="<html>")
    with pytest.raises(Unavailable):
        await client.get_raw_file(TOOLS, tools.sha, "skills/pdf/SKILL.md", at_most=1000)


@pytest.mark.parametrize("body", ["", "not json", "[]", "null", '{"id": "x"}', '{"id": 1}', b"\xff\xfe", "[" * 100_000])
async def test_an_answer_that_makes_no_sense_is_unknown(world, tools, client, body) -> None:
    """G36: and it is not remembered."""
    world.fail("repo", 200, body=body)
    assert (await error_of(client, Unavailable)).code == "github_unavailable"
    assert (await client.get_repository(TOOLS)).stars == 7


async def test_a_dropped_connection_is_unknown(world, tools, client) -> None:
    """G36: within the answer, or before it however often it is asked."""
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


async def test_a_server_that_is_not_there_is_unknown(clock) -> None:
    """G36: nobody listens."""
    async with a_client(FakeServer("http://127.0.0.1:1"), clock) as client:
        assert (await error_of(client, Unavailable)).code == "github_unavailable"


async def test_a_slow_answer_is_given_up(world, tools, server, clock) -> None:
    """G36: every wait has an end, and the end is "unknown"."""
    world.latency("repo", 30)
    async with (
        a_client(server, clock) as client,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=0.05), headers={"User-Agent": "assay-test"}) as hasty,
    ):
        client.session = hasty
        assert (await error_of(client, Unavailable)).code == "github_unavailable"


async def test_an_oversized_answer_is_refused(world, tools, client) -> None:
    """G39: an endless answer does not fill the memory."""
    world.fail("repo", 200, body=b"[" + b" " * LARGEST_JSON_BYTES + b"]")
    assert (await error_of(client, Unavailable)).code == "too_large"


async def test_a_raw_file_is_never_longer_than_asked_for(world, client) -> None:
    """G39: exactly the size is fine, one byte more is not."""
    repository = world.add_repository("acme/tools", {"SKILL.md": "x" * 1000})
    assert len(await client.get_raw_file(TOOLS, repository.sha, "SKILL.md", at_most=1000)) == 1000
    with pytest.raises(Unavailable) as raised:
        await client.get_raw_file(TOOLS, repository.sha, "SKILL.md", at_most=999)
    assert raised.value.code == "too_large"
