"""A thousand subscribers on one process, some of which do not read."""

import asyncio
import re
import resource
import socket
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from sqlalchemy import text

from assay.serve.feed.subscribers import SubscriberOptions
from assay.store.database.database import Database
from tests.support.processes import until
from tests.support.registry import Registry
from tests.support.streams import PATIENCE_SECONDS, STREAM, a_submission, changes_of_the_queue
from tests.support.web.metrics import series
from tests.support.web.process import Web, a_web

pytestmark = [pytest.mark.process, pytest.mark.slow]

LISTENERS, SLEEPERS, EVENTS, AT_ONCE = 1_000, 40, 800, 100
KIB_EACH = 200
REQUEST = f"GET {STREAM} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode()
LONG_NAME = "a-skill-with-a-name-as-long-as-names-may-be-" * 4


class Ear(asyncio.Protocol):
    """A subscriber that records the ids it receives."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.tail = b""
        self.began = asyncio.Event()
        self.is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(REQUEST)

    def data_received(self, data: bytes) -> None:
        heard, end, self.tail = (self.tail + data).rpartition(b"\n\n")
        if b"retry:" in heard:
            self.began.set()
        self.ids += [int(serial) for serial in re.findall(rb"id: (\d+)\ndata", heard + end)]

    def connection_lost(self, problem: Exception | None) -> None:
        self.is_lost = True


def a_sleeper(port: int) -> socket.socket:
    """Open a stream with small buffers and never read from it."""
    sleeper = socket.socket()
    sleeper.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sleeper.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    sleeper.connect(("127.0.0.1", port))
    sleeper.sendall(REQUEST)
    return sleeper


async def listen(port: int, number: int) -> list[Ear]:
    """Open streams and wait until each has started."""
    loop, ears = asyncio.get_running_loop(), []
    for start in range(0, number, AT_ONCE):
        size = min(AT_ONCE, number - start)
        group = await asyncio.gather(*(loop.create_connection(Ear, "127.0.0.1", port) for _ in range(size)))
        ears += [ear for _, ear in group]
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asyncio.gather(*(ear.began.wait() for _, ear in group))
    return ears


async def write(store: Database, number: UUID, count: int) -> None:
    """Write many changes of one submission in one transaction."""
    statement = text(
        "INSERT INTO change (kind, submission_id, data) SELECT 'submission', :id, "
        """'{"from": "RECEIVED", "to": "TIER1_SCANNING", "trigger": "fetched"}' FROM generate_series(1, :count)"""
    )
    async with store.begin() as db:
        await db.execute(statement, {"id": number, "count": count})


def memory_kib(web: Web) -> int:
    """Return the memory of the process."""
    status = Path(f"/proc/{web.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1])  # type: ignore[index]


async def metric(web: Web, name: str) -> float:
    """Return a metric of the process."""
    async with httpx.AsyncClient(base_url=web.url, timeout=PATIENCE_SECONDS) as client:
        return series((await client.get("/metrics")).text, name)[""]


async def test_thousand_subscribers_of_one_process(registry: Registry, tmp_path: Path) -> None:
    """G75: readers receive everything in order, stalled ones are dropped, memory is bounded."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    store = registry.app.store
    with a_web(registry, tmp_path) as web:
        await until(web.is_ready)
        port = int(web.url.rpartition(":")[2])
        [first] = await listen(port, 1)
        await a_submission(store, "first")
        submission = await a_submission(store, LONG_NAME)

        async def first_heard() -> bool:
            return len(first.ids) == 2

        await until(first_heard)
        idle = memory_kib(web)
        ears = await listen(port, LISTENERS)
        files = open_files(web)
        sleepers = [a_sleeper(port) for _ in range(SLEEPERS)]

        async def all_listen() -> bool:
            return await metric(web, "assay_listeners") == LISTENERS + SLEEPERS + 1

        await until(all_listen)
        quiet = memory_kib(web)
        async with httpx.AsyncClient(base_url=web.url, timeout=PATIENCE_SECONDS) as client:
            for _ in range(EVENTS // AT_ONCE):
                await write(store, submission.id, AT_ONCE)
                assert (await client.get("/api/v1/submissions")).json()["total"] == 2

        async def all_heard() -> bool:
            return all(len(ear.ids) >= EVENTS or ear.is_lost for ear in ears)

        await until(all_heard)
        busy = memory_kib(web)
        expected = await changes_of_the_queue(store)
        assert first.ids == expected
        assert [ear.ids for ear in ears] == [expected[2:]] * LISTENERS
        assert not any(ear.is_lost for ear in ears)

        async def sleepers_dropped() -> bool:
            return await metric(web, "assay_listeners_dropped_total") == SLEEPERS

        await until(sleepers_dropped)
        assert await metric(web, "assay_listeners") == LISTENERS + 1
        await until(lambda: are_closed(web, files + SLEEPERS // 2))
        print(f"\nidle {idle} KiB, quiet {quiet} KiB, busy {busy} KiB: {(quiet - idle) / len(ears):.1f} a listener")
        assert (max(quiet, busy) - idle) / (LISTENERS + SLEEPERS) < KIB_EACH
        for sleeper in sleepers:
            sleeper.close()
        await check_stop(web, [first, *ears])
    assert SubscriberOptions().max_subscribers >= LISTENERS


async def check_stop(web: Web, ears: list[Ear]) -> None:
    """Check that a graceful stop ends all streams without waiting."""
    with a_sleeper(int(web.url.rpartition(":")[2])):
        web.process.terminate()
        assert await asyncio.to_thread(web.process.wait, PATIENCE_SECONDS) == 0
    assert "graceful" not in web.log.read_text(), "it did not have to give up on anybody"

    async def all_ended() -> bool:
        return all(ear.is_lost for ear in ears)

    await until(all_ended)


def open_files(web: Web) -> int:
    """Return the number of open file descriptors."""
    return len(list(Path(f"/proc/{web.process.pid}/fd").iterdir()))


async def are_closed(web: Web, at_most: int) -> bool:
    """Return whether the sockets of stalled subscribers are closed."""
    return open_files(web) <= at_most
