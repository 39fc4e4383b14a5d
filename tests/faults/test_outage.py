"""PostgreSQL is killed, hangs, or is missing at start while clients read."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from time import monotonic

import httpx
import pytest
from benchmarks.outage import READS, REFUSED, WRITE, Answered, failures
from pydantic import SecretStr
from sqlalchemy import text

from assay.settings import Settings
from assay.store.database.database import open_database
from assay.store.database.embedded import EmbeddedServer, kill
from assay.store.database.migrate import head, migrate
from tests.support.edge_copies import bring_level
from tests.support.fake_github import FakeGitHub
from tests.support.processes import a_free_port, a_process, until
from tests.support.registry import Registry, open_registry
from tests.support.skills import a_repository

pytestmark = [pytest.mark.process, pytest.mark.slow]

MARK = "x-assay-degraded"
LIST = "/api/v1/skills"
# The name used by the benchmark.
REPOSITORY, NAME = "bench-0/skills", "skill-0"
EVERY_SECONDS = 0.02


@pytest.fixture
def own_server(data_folder: Path) -> Iterator[EmbeddedServer]:
    """Start a migrated PostgreSQL that the test may kill."""
    server = EmbeddedServer(data_folder / "postgres")
    server.start(("fsync=off",))
    asyncio.run(_migrate(server.url))
    yield server
    server.stop()


async def _migrate(url: str) -> None:
    async with open_database(url) as store:
        await migrate(store)


@pytest.fixture
async def browsed(own_server: EmbeddedServer, settings: Settings, github: FakeGitHub) -> AsyncIterator[Registry]:
    """Return a registry with one listing that is also in the edge copy."""
    chosen = settings.model_copy(update={"database_url": SecretStr(own_server.url)})
    async with open_registry(chosen, github) as registry:
        github.add_repository(REPOSITORY, files=a_repository(NAME))
        await registry.submit(REPOSITORY, NAME, f"skills/{NAME}/SKILL.md")
        await registry.work()
        await bring_level(registry, registry.app.edge)
        yield registry
        if not own_server.is_running():
            own_server.start(("fsync=off",))


class Browsing:
    """A client that sends requests continuously."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.phase = "healthy"
        self.answers: list[Answered] = []

    async def run(self, stopping: asyncio.Event) -> None:
        """Send requests at a fixed rate, however long responses take."""
        async with asyncio.TaskGroup() as group:
            while not stopping.is_set():
                for route in (*READS, *REFUSED, WRITE):
                    group.create_task(self.ask(route))
                    await asyncio.sleep(EVERY_SECONDS)

    async def ask(self, route: str) -> Answered:
        """Send one request."""
        phase, started = self.phase, monotonic()
        answer = await self._get(route)
        is_page = answer.headers.get("content-type", "").startswith("text/html")
        said = "The database is unavailable" if is_page else '"degraded":true'
        found = Answered(
            phase,
            self.phase,
            route,
            answer.status_code,
            MARK in answer.headers and said in answer.text,
            "retry-after" in answer.headers,
            monotonic() - started,
        )
        self.answers.append(found)
        return found

    async def _get(self, route: str) -> httpx.Response:
        client = self._registry.client
        if route == WRITE:
            body = {"repoUrl": f"{self._registry.web_url}/{REPOSITORY}", "skillName": NAME}
            return await client.post("/api/v1/submissions", json=body | {"skillPath": f"skills/{NAME}/SKILL.md"})
        path, headers = (READS | REFUSED)[route]
        return await client.get(path, headers=headers)

    async def is_marked(self) -> bool:
        """Return whether the list is degraded."""
        return (await self.ask("list")).is_marked

    async def is_healthy(self) -> bool:
        """Return whether the list comes from the database again."""
        return not await self.is_marked()


async def test_reads_continue_while_postgresql_is_killed(browsed: Registry, own_server: EmbeddedServer) -> None:
    """G8, G9, G65: no error on any read route, every response marked, automatic recovery."""
    browsing, stopping = Browsing(browsed), asyncio.Event()
    running = asyncio.create_task(browsing.run(stopping))
    await until(lambda: seen(browsing, "healthy"))
    browsing.phase = "away"
    kill(own_server)
    await until(lambda: seen(browsing, "away"))
    browsing.phase = "coming back"
    await asyncio.to_thread(own_server.start, ("fsync=off",))
    await until(browsing.is_healthy)
    browsing.phase = "healthy again"
    await until(lambda: seen(browsing, "healthy again"))
    stopping.set()
    await running
    assert failures(browsing.answers) == []
    refused = {each.route for each in browsing.answers if each.status == 503}
    assert refused == {*REFUSED, WRITE}


async def seen(browsing: Browsing, phase: str) -> bool:
    """Return whether every route was requested and answered in this phase."""
    asked = {each.route for each in browsing.answers if each.phase == each.until == phase}
    return asked == {*READS, *REFUSED, WRITE}


async def test_reads_continue_while_postgresql_hangs(browsed: Registry, own_server: EmbeddedServer) -> None:
    """G67: requests wait only until the outage is detected."""
    browsing = Browsing(browsed)
    await asyncio.gather(*(browsing.ask(route) for route in READS))
    pid = own_server.pid()
    assert pid is not None
    stopped = [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    for each in stopped:
        os.kill(each, signal.SIGSTOP)
    try:
        browsing.phase = "away"
        async with asyncio.timeout(60):
            await asyncio.gather(*(browsing.ask(route) for route in (*READS, *REFUSED, WRITE) for _ in range(3)))
        ready = await browsed.client.get("/readyz")
        assert (ready.status_code, ready.json()["ready"]) == (503, False)
    finally:
        for each in stopped:
            os.kill(each, signal.SIGCONT)
    browsing.phase = "coming back"
    await until(browsing.is_healthy)
    browsing.phase = "healthy again"
    await asyncio.gather(*(browsing.ask(route) for route in (*READS, *REFUSED, WRITE)))
    assert failures(browsing.answers) == []


async def test_web_process_starts_before_its_database(
    browsed: Registry, own_server: EmbeddedServer, tmp_path: Path
) -> None:
    """G65: degraded and not ready until the database is up with the right schema."""
    port = a_free_port()
    settings = browsed.app.settings.model_copy(update={"port": port})
    await set_schema(browsed, "0001")
    own_server.stop()
    log = tmp_path / "web.log"
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
        with a_process("web", settings, log):
            await until(lambda: answers(client, LIST, marked=True))
            assert (await client.get("/readyz")).status_code == 503
            assert (await client.get("/healthz")).status_code == 200
            own_server.start(("fsync=off",))
            await until(lambda: says(log, f"this release needs {head()}: run `assay migrate`"))
            assert await answers(client, LIST, marked=True)
            assert (await client.get("/readyz")).status_code == 503
            url = f"{browsed.web_url}/{REPOSITORY}"
            refused = await client.post("/api/v1/submissions", json={"repoUrl": url, "skillName": NAME})
            assert (refused.status_code, "run `assay migrate`" in refused.json()["detail"]) == (503, True)
            await until(lambda: answered(browsed))
            await set_schema(browsed, head())
            await until(lambda: answers(client, LIST, marked=False))
            assert (await client.get("/readyz")).status_code == 200


async def set_schema(registry: Registry, revision: str) -> None:
    """Set the schema version."""
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})


async def answered(registry: Registry) -> bool:
    """Return whether the process has noticed the recovery."""
    return not registry.app.store.breaker.is_open


async def answers(client: httpx.AsyncClient, path: str, *, marked: bool) -> bool:
    """Return whether there is a response, degraded or not."""
    try:
        answer = await client.get(path)
    except httpx.TransportError:
        return False
    return answer.status_code == 200 and (MARK in answer.headers) == marked


async def says(log: Path, words: str) -> bool:
    """Return whether a process has logged this."""
    return words in log.read_text()
