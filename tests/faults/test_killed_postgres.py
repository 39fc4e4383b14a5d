"""PostgreSQL is killed under load."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from assay.model.errors import Unavailable
from assay.model.submission import State
from assay.settings import Settings
from assay.store.database.database import open_database
from assay.store.database.embedded import EmbeddedServer, kill
from assay.store.database.migrate import migrate
from assay.store.submissions.counts import count_by_state
from tests.support.fake_github import FakeGitHub
from tests.support.outage import answered, gone
from tests.support.processes import a_worker, check_invariants, finished, killable, until
from tests.support.registry import open_registry
from tests.support.submissions import submit_many

pytestmark = pytest.mark.process


@pytest.fixture
def own_server(data_folder: Path) -> Iterator[EmbeddedServer]:
    """Start a PostgreSQL that the test may kill, with fsync as in production."""
    server = EmbeddedServer(data_folder / "postgres")
    server.start()
    yield server
    server.stop()


async def test_submissions_survive_kill_9_of_postgresql(
    own_server: EmbeddedServer, settings: Settings, github: FakeGitHub, tmp_path: Path
) -> None:
    """G2: killed twice during 200 submissions."""
    async with open_database(own_server.url) as store:
        await migrate(store)
    chosen = killable(settings).model_copy(update={"database_url": SecretStr(own_server.url)})
    async with open_registry(chosen, github) as registry:
        total = await submit_many(registry)
        store = registry.app.store
        with a_worker(chosen, tmp_path / "worker.log") as worker:
            for reached in (40, 110):
                await until(lambda reached=reached: finished(store, reached))
                kill(own_server)
                await until(lambda: gone(own_server))
                with pytest.raises(Unavailable):
                    await store.ping()
                own_server.start()
            await until(lambda: answered(store))
            await until(lambda: finished(store, total))
            assert worker.poll() is None, "the worker must outlive the database"
        await check_invariants(store)
        async with store.begin() as db:
            assert (await count_by_state(db))[State.PUBLISHED] == total
