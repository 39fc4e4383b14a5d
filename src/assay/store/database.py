"""The connection pool, and the one place where a silent database becomes a typed error."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg
from sqlalchemy import event, exc, make_url, text
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from assay.model.errors import Unavailable


@dataclass(frozen=True)
class PoolOptions:
    """How many connections a process holds, and how long a statement may take."""

    size: int = 10
    wait_seconds: float = 30
    statement_seconds: float = 15
    application: str = "assay"


@dataclass(frozen=True)
class Database:
    """PostgreSQL, for one process."""

    engine: AsyncEngine

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncConnection]:
        """One transaction: committed at the end, rolled back if anything is raised inside."""
        with _typed_outage():
            async with self.engine.begin() as connection:
                yield connection

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[AsyncConnection]:
        """A read-only transaction in which every statement sees the same moment."""
        with _typed_outage():
            async with self.engine.connect() as connection:
                await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
                yield connection

    async def ping(self) -> None:
        """Raises Unavailable if the database does not answer."""
        async with self.begin() as connection:
            await connection.execute(text("SELECT 1"))


@asynccontextmanager
async def open_database(url: str, options: PoolOptions | None = None) -> AsyncIterator[Database]:
    """A pool that opens connections when they are needed and closes them all at the end."""
    options = options or PoolOptions()
    engine = create_async_engine(
        dialect_url(url),
        pool_size=options.size,
        max_overflow=0,
        pool_timeout=options.wait_seconds,
        connect_args={
            "timeout": 10,
            "server_settings": {
                "application_name": options.application,
                "statement_timeout": str(int(options.statement_seconds * 1000)),
                "idle_in_transaction_session_timeout": "60000",
                "jit": "off",
            },
        },
    )
    event.listen(engine.sync_engine, "checkout", _refuse_closed)
    try:
        yield Database(engine)
    finally:
        await engine.dispose()


def dialect_url(url: str) -> URL:
    """A plain postgresql:// URL, for SQLAlchemy on asyncpg."""
    return make_url(url).set(drivername="postgresql+asyncpg")


def _refuse_closed(dbapi_connection: object, _record: object, _proxy: object) -> None:
    """After an outage the pool still holds dead connections; a fresh one takes their place unnoticed."""
    if dbapi_connection.driver_connection.is_closed():  # type: ignore[attr-defined]
        raise exc.DisconnectionError


class _typed_outage:  # noqa: N801 - reads as a verb at its use
    """Turns every way in which a database can be unreachable into Unavailable."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if problem is not None and is_outage(problem):
            raise Unavailable(
                "The database does not answer.",
                code="database_unavailable",
                retry_after_seconds=5,
                cause=_in_a_line(problem),
            ) from problem


def is_outage(problem: BaseException) -> bool:
    """Whether this error says that the database is away, rather than that a statement is wrong."""
    if isinstance(problem, exc.DBAPIError):
        cause = problem.orig.__cause__ if problem.orig is not None else None
        return problem.connection_invalidated or (cause is not None and is_outage(cause))
    return isinstance(
        problem,
        OSError
        | TimeoutError
        | exc.TimeoutError
        | asyncpg.PostgresConnectionError
        | asyncpg.CannotConnectNowError
        | asyncpg.AdminShutdownError
        | asyncpg.CrashShutdownError
        | asyncpg.TooManyConnectionsError
        | asyncpg.InvalidCatalogNameError
        | asyncpg.InvalidAuthorizationSpecificationError
        | asyncpg.ObjectNotInPrerequisiteStateError,
    )


def _in_a_line(problem: BaseException) -> str:
    """PostgreSQL's or the system's own words; they name hosts and databases, never passwords."""
    said = problem.orig.__cause__ if isinstance(problem, exc.DBAPIError) and problem.orig is not None else problem
    return next(iter(str(said).splitlines()), type(said).__name__)
