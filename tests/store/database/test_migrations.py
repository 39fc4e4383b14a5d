"""Migrations match the tables and the queue engine."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from uuid import uuid4

import asyncpg
import pytest
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver

from assay.store.database.database import open_database
from assay.store.database.embedded import _binary
from assay.store.database.migrate import MIGRATIONS, migrate
from assay.store.migrations.statements import SEPARATOR
from assay.store.queue.pgqueuer import queries_on
from assay.store.tables import metadata


@pytest.fixture
async def empty_url(postgres_url: str) -> AsyncIterator[str]:
    """Create an empty database."""
    name = f"empty_{uuid4().hex}"
    admin = await asyncpg.connect(postgres_url.replace("/assay?", "/postgres?"))
    await admin.execute(f"CREATE DATABASE {name}")
    yield postgres_url.replace("/assay?", f"/{name}?")
    await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await admin.close()


def schema_of(url: str) -> str:
    """Describe the schema: tables, constraints, indexes, functions, triggers."""
    command = [str(_binary("pg_dump")), "--schema-only", "--no-owner", "--exclude-table=alembic_version", url]
    dumped = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return "\n".join(line for line in dumped.splitlines() if not line.startswith("\\"))


async def test_migrations_match_the_tables(database_url: str, empty_url: str) -> None:
    engine_schema = (MIGRATIONS / "versions" / "0001_queue.sql").read_text()
    async with open_database(empty_url) as store, store.begin() as db:
        for statement in engine_schema.split(SEPARATOR):
            await db.exec_driver_sql(statement)
        await db.run_sync(metadata.create_all)
    built = schema_of(database_url)
    assert "TRIGGER count_updated" in built
    assert built == schema_of(empty_url)


async def test_queue_engine_accepts_the_schema(database_url: str) -> None:
    """An upgrade of PgQueuer that changes its schema needs a migration."""
    connection = await asyncpg.connect(database_url)
    plan = await queries_on(AsyncpgDriver(connection)).plan_upgrade()
    await connection.close()
    assert list(plan.statements) == []


async def test_concurrent_migrations(empty_url: str) -> None:
    async with open_database(empty_url) as store:
        await asyncio.gather(*(migrate(store) for _ in range(10)))
    assert "CREATE TABLE public.submission " in schema_of(empty_url)
