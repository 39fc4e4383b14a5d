"""PostgreSQL is killed while streams are open."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from assay.settings import Settings
from assay.store.database.database import open_database
from assay.store.database.embedded import EmbeddedServer, kill
from assay.store.database.migrate import migrate
from tests.support.fake_github import FakeGitHub
from tests.support.outage import answered, gone
from tests.support.processes import until
from tests.support.registry import open_registry
from tests.support.streams import STREAM, a_submission, changes_of_the_queue, go_around, reading, serving

pytestmark = pytest.mark.process


@pytest.fixture
def own_server(data_folder: Path) -> Iterator[EmbeddedServer]:
    """Start a PostgreSQL that the test may kill, with fsync as in production."""
    server = EmbeddedServer(data_folder / "postgres")
    server.start()
    yield server
    server.stop()


async def test_streams_survive_a_database_restart(
    own_server: EmbeddedServer, settings: Settings, github: FakeGitHub
) -> None:
    """G73: each change is delivered once on the same connections."""
    async with open_database(own_server.url) as store:
        await migrate(store)
    chosen = settings.model_copy(update={"database_url": SecretStr(own_server.url)})
    async with open_registry(chosen, github) as registry, serving(registry.app) as url:
        store = registry.app.store
        async with reading(url) as everything:
            before = await a_submission(store)
            assert [event.id for event in await everything.take(1)] == ["1"]
            kill(own_server)
            await until(lambda: gone(own_server))
            async with reading(url, after=0) as meanwhile:
                assert [event.id for event in await meanwhile.take(1)] == ["1"], "what is kept needs no database"
                await check_refused(f"{url}{STREAM}/{before.id}")
                async with serving(registry.app) as elsewhere:
                    await check_refused(f"{elsewhere}{STREAM}")
                own_server.start()
                await until(lambda: answered(store))
                for _ in range(5):
                    before = await go_around(store, before)
                for stream in (everything, meanwhile):
                    heard = [int(event.id) for event in await stream.take(10)]
                    assert heard == await changes_of_the_queue(store, since=1)


async def check_refused(url: str) -> None:
    """G8: Check that routes that need the database return 503 instead of a silent stream."""
    async with httpx.AsyncClient(timeout=60) as client:
        answer = await client.get(url)
    assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable")
    assert int(answer.headers["retry-after"]) >= 1
