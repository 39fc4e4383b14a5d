"""Upgrading the schema, and checking that it fits this release."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Conflict
from assay.store.database.database import Database
from assay.store.database.locks import MIGRATION

MIGRATIONS = Path(__file__).parent.parent / "migrations"


async def migrate(database: Database) -> None:
    """Run pending migrations. Safe to call from several processes at once: the others wait for the first."""
    async with database.begin() as connection:
        await connection.execute(text("SET LOCAL statement_timeout = 0"))
        await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION})
        await _refuse_newer(connection)
        await connection.run_sync(_upgrade)


async def check_schema(database: Database) -> None:
    """Raise Conflict unless the schema is exactly the one this release needs."""
    async with database.begin() as connection:
        await _refuse_newer(connection)
        current = await connection.run_sync(_current)
    if current != head():
        raise Conflict(
            f"The database schema is at {current or 'nothing'}, this release needs {head()}: run `assay migrate`.",
            code="schema_outdated",
        )


def head() -> str:
    """Return the newest revision that this release knows."""
    newest = ScriptDirectory.from_config(_config()).get_current_head()
    assert newest is not None
    return newest


async def _refuse_newer(connection: AsyncConnection) -> None:
    current = await connection.run_sync(_current)
    known = {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
    if current is not None and current not in known:
        raise Conflict(
            f"The database schema {current} is newer than this release, which knows {head()}: upgrade Assay.",
            code="schema_newer",
        )


def _current(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _upgrade(connection: Connection) -> None:
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config
