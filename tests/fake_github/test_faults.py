"""Faults of the fake GitHub, and its record of calls."""

import asyncio
import json
import subprocess
import sys

import aiohttp
import pytest

from tests.support.fake_github import serve
from tests.support.github.plain_client import PlainClient

PATHS = {
    "repo": "/api/repos/acme/tools",
    "commit": "/api/repos/acme/tools/commits/HEAD",
    "tree": "/api/repos/acme/tools/git/trees/HEAD",
    "search": "/api/search/repositories?q=acme",
    "raw": "/raw/acme/tools/HEAD/README.md",
    "archive": "/codeload/acme/tools/tar.gz/HEAD",
    "web": "/web/acme/tools",
    "rate_limit": "/api/rate_limit",
}


@pytest.mark.parametrize("route", PATHS)
async def test_route_fails_as_often_as_requested(visitor, world, tools, route):
    world.fail(route, status=503, times=2, retry_after=7, body=b"down")
    replies = [await visitor.get(PATHS[route]) for _ in range(3)]
    assert [reply.status for reply in replies] == [503, 503, 200]
    assert (replies[0].headers["Retry-After"], replies[0].body) == ("7", b"down")


async def test_faults_are_per_route(visitor, world, tools):
    world.fail("repo", 500)
    world.fail("repo", 502, times=None)
    assert (await visitor.get(PATHS["commit"])).status == 200
    assert [(await visitor.get(PATHS["repo"])).status for _ in range(3)] == [500, 502, 502]
    world.heal()
    assert (await visitor.get(PATHS["repo"])).status == 200


async def test_secondary_limit(visitor, world, tools):
    world.secondary_limit("commit", retry_after=2)
    reply = await visitor.get(PATHS["commit"], "good")
    assert (reply.status, reply.headers["Retry-After"], reply.remaining) == (403, "2", 4999)
    assert reply.json["message"].startswith("You have exceeded a secondary rate limit")
    assert (await visitor.get(PATHS["commit"], "good")).status == 200


@pytest.mark.parametrize("route", ["repo", "archive"])
async def test_connection_drops_before_the_response(visitor, world, tools, route):
    """recorded with status 0; aiohttp retries a GET once."""
    world.drop_connection(route, times=2)
    with pytest.raises(aiohttp.ClientConnectionError):
        await visitor.get(PATHS[route])
    assert [call.status for call in world.calls] == [0, 0]
    assert (await visitor.get(PATHS[route])).status == 200


@pytest.mark.parametrize("route", ["raw", "archive"])
async def test_connection_drops_within_the_body(visitor, world, tools, route):
    world.drop_connection(route, after_bytes=3)
    with pytest.raises(aiohttp.ClientPayloadError):
        await visitor.get(PATHS[route])
    assert (await visitor.get(PATHS[route])).status == 200


async def test_archive_can_be_truncated(visitor, world, tools):
    whole = await visitor.get(PATHS["archive"])
    world.truncate_archive()
    half = await visitor.get(PATHS["archive"])
    assert (200, whole.body[: len(whole.body) // 2]) == (half.status, half.body)


async def test_latency_delays_one_route(visitor, world, tools):
    world.latency("raw", 600)
    slow = asyncio.create_task(visitor.get(PATHS["raw"]))
    assert (await visitor.get(PATHS["repo"])).status == 200
    assert not slow.done()
    slow.cancel()
    world.latency("raw", 0.001)
    assert (await visitor.get(PATHS["raw"])).status == 200


async def test_server_stops_with_delayed_responses(world, tools):
    world.latency("raw", 600)
    async with aiohttp.ClientSession() as session:
        with serve(world) as server:
            world.reset_calls()
            waiting = asyncio.create_task(PlainClient(server.base_url, session).get(PATHS["raw"]))
            while world.count("raw") == 0:
                await PlainClient(server.base_url, session).get(PATHS["repo"])
        with pytest.raises(aiohttp.ClientConnectionError):
            await waiting


def test_unknown_route_cannot_fail(world):
    with pytest.raises(ValueError, match="Unknown route"):
        world.fail("nothing")


async def test_calls_are_recorded(visitor, world, tools):
    await visitor.get(PATHS["repo"], "good")
    await visitor.get(PATHS["archive"])
    await visitor.get("/api/repos/acme/nothing", Authorization="Basic eDp5")
    assert [
        ("api", "repo", PATHS["repo"], 200, "good", True, True),
        ("codeload", "archive", PATHS["archive"], 200, None, False, False),
        ("api", "repo", "/api/repos/acme/nothing", 401, "Basic eDp5", True, True),
    ] == list(world.calls)


async def test_calls_are_counted(visitor, world, tools):
    for route in ("repo", "repo", "commit", "raw"):
        await visitor.get(PATHS[route])
    assert (world.count(), world.count("repo"), world.count("raw"), world.count_api()) == (4, 2, 1, 3)
    assert (await visitor.get("/_calls")).json == {"repo": 2, "commit": 1, "raw": 1, "charged": 3}
    world.reset_calls()
    assert (world.count(), world.count_api(), list(world.calls)) == (0, 0, [])


async def test_urls_are_given_as_settings(server):
    assert {
        "ASSAY_GITHUB_API_URL": f"{server.base_url}/api",
        "ASSAY_GITHUB_RAW_URL": f"{server.base_url}/raw",
        "ASSAY_GITHUB_CODELOAD_URL": f"{server.base_url}/codeload",
        "ASSAY_GITHUB_WEB_URL": f"{server.base_url}/web",
    } == server.urls()


@pytest.mark.process
async def test_bench_process_ends_with_its_stdin():
    arguments = [
        "--repositories",
        "2",
        "--skills-per-repository",
        "3",
        "--skill-bytes",
        "500",
        "--token",
        "t",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.fake_github", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        ready = json.loads(process.stdout.readline())
        assert process.pid == ready["pid"]
        async with aiohttp.ClientSession() as session:
            bench = PlainClient(ready["base_url"], session)
            skill = await bench.get("/raw/bench-1/skills/HEAD/skills/skill-2/SKILL.md")
            assert skill.body.startswith(b"---\nname: skill-2\ndescription: ")
            assert 500 <= len(skill.body) <= 501
            tree = await bench.get("/api/repos/bench-0/skills/git/trees/HEAD?recursive=1", "t")
            assert sum(entry["type"] == "blob" for entry in tree.json["tree"]) == 1 + 3 * 3
            assert (await bench.get("/_calls")).json == {"raw": 1, "tree": 1, "charged": 1}
            async with session.post(f"{ready['base_url']}/_reset") as reset:
                assert reset.status == 200
            assert (await bench.get("/_calls")).json == {"charged": 0}
        process.stdin.close()
        assert process.wait(timeout=30) == 0
