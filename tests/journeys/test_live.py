"""Live events across processes."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.support.processes import a_process, until
from tests.support.registry import Registry
from tests.support.skills import a_bad_skill, a_repository
from tests.support.streams import PATIENCE_SECONDS, Event, Reader, changes_of_the_queue, reading
from tests.support.web.process import Web, a_web

pytestmark = pytest.mark.process


@pytest.fixture
async def webs(registry: Registry, tmp_path: Path) -> AsyncIterator[tuple[Web, Web]]:
    """Start two web processes of one registry, without a worker."""
    with ExitStack() as stack:
        first, second = (stack.enter_context(a_web(registry, tmp_path)) for _ in range(2))
        for web in (first, second):
            await until(web.is_ready)
        yield first, second


async def post(registry: Registry, web: Web, repository: str, path: str = "SKILL.md") -> str:
    """Submit a skill."""
    body = {"repoUrl": f"{registry.web_url}/{repository}", "skillPath": path}
    async with httpx.AsyncClient(base_url=web.url, timeout=30) as client:
        answer = await client.post("/api/v1/submissions", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def until_state(stream: Reader, *states: str) -> list[Event]:
    """Return all events until submissions reach these states."""
    left, seen = sorted(states), []
    while left:
        seen.append(await stream.next())
        if seen[-1].name == "state_changed" and seen[-1].data["state"] in left:
            left.remove(seen[-1].data["state"])
    return seen


def ids(events: list[Event]) -> list[int]:
    """Return the serials received; two events of one change count once."""
    return [int(event.id) for event in events if event.name != "scan_complete"]


async def test_events_reach_subscribers_of_other_processes(
    registry: Registry, webs: tuple[Web, Web], tmp_path: Path
) -> None:
    """G73: posted to one process, processed by another, received from a third."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    registry.github.add_repository("mallory/kit", files=a_bad_skill())
    first, second = webs
    with a_process("worker", registry.app.settings, tmp_path / "worker.log"):
        async with reading(first.url) as here, reading(second.url) as there:
            number = await post(registry, first, "acme/tools", "skills/pdf/SKILL.md")
            await post(registry, second, "mallory/kit")
            heard = [await until_state(stream, "PUBLISHED", "TIER1_FAILED") for stream in (here, there)]
    expected = await changes_of_the_queue(registry.app.store)
    assert ids(heard[0]) == ids(heard[1]) == expected
    assert heard[0] == heard[1], "the same bytes from every process"
    story = [event for event in heard[1] if event.data["submissionId"] == number]
    told = [(event.name, event.data.get("state")) for event in story]
    assert told == [
        ("submission_created", "RECEIVED"),
        ("state_changed", "TIER1_SCANNING"),
        ("scan_complete", None),
        ("state_changed", "AUTO_APPROVED"),
        ("state_changed", "PUBLISHED"),
    ]
    refused = next(event for event in heard[0] if event.data.get("state") == "TIER1_FAILED")
    assert refused.data["reason"]


async def test_graceful_stop_ends_streams_without_loss(registry: Registry, webs: tuple[Web, Web]) -> None:
    """G74: clients resume at another process."""
    first, second = webs
    async with reading(first.url) as stream, reading(first.url) as quiet:
        await post(registry, second, "acme/one")
        assert (await stream.next()).id == "1"
        first.process.send_signal(signal.SIGTERM)
        for each in (stream, quiet):
            with pytest.raises(EOFError):
                while True:
                    await each.next()
        last = stream.last_id
    assert await asyncio.to_thread(first.process.wait, PATIENCE_SECONDS) == 0
    assert "graceful" not in first.log.read_text(), "it did not have to give up on anybody"
    await post(registry, second, "acme/two")
    async with reading(second.url, after=last) as stream:
        assert [event.id for event in await stream.take(1)] == ["2"]


async def test_killed_web_process_loses_no_events(registry: Registry, webs: tuple[Web, Web]) -> None:
    """G74: missed events are replayed by any process."""
    first, second = webs
    async with reading(first.url) as stream:
        await post(registry, second, "acme/one")
        await stream.next()
        first.process.kill()
        with pytest.raises((EOFError, httpx.TransportError)):
            await stream.next()
    await post(registry, second, "acme/two")
    await post(registry, second, "acme/three")
    async with reading(second.url, after=stream.last_id) as stream:
        assert ids(await stream.take(2)) == await changes_of_the_queue(registry.app.store, since=1)
