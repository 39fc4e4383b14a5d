"""The connection pool, and the one place where a silent database becomes a typed error."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg
from sqlalchemy import event, exc, make_url, text
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from assay.model.errors import Unavailable
from assay.store.database.breaker import Breaker

# The code of the error that says so.
AWAY = "database_unavailable"
PROBE_SECONDS = 3
BUSY = "database_busy"
CROSSED = "Somebody else is changing the same; nothing was changed by this. Try again."
SILENT = "The database does not answer."
ASKED_AGAIN = "it has not answered since, and is asked again in the background"


@dataclass(frozen=True)
class PoolOptions:
    """How many connections a process holds, how long a statement may take, and how often to look if it still answers.

    Without `watch_seconds` nobody looks until a statement fails.
    """

    size: int = 10
    wait_seconds: float = 30
    connect_seconds: float = 5
    watch_seconds: float | None = None
    statement_seconds: float = 15
    application: str = "assay"


@dataclass(frozen=True)
class Database:
    """PostgreSQL, for one process. While it is known to be away, every transaction is Unavailable at once."""

    engine: AsyncEngine
    breaker: Breaker

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncConnection]:
        """One transaction: committed at the end, rolled back if anything is raised inside."""
        self._refuse_if_away()
        with _typed_outage(self.breaker):
            async with self.breaker.patience(), self.engine.begin() as connection:
                yield connection

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[AsyncConnection]:
        """A read-only transaction in which every statement sees the same moment."""
        self._refuse_if_away()
        with _typed_outage(self.breaker):
            async with self.breaker.patience(), self.engine.connect() as connection:
                await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
                yield connection

    async def ping(self) -> None:
        """Raises Unavailable if the database does not answer; asks it, whatever is known of it."""
        with _typed_outage(self.breaker):
            async with asyncio.timeout(PROBE_SECONDS), self.engine.begin() as connection:
                await connection.execute(text("SELECT 1"))
        self.breaker.close()

    def _refuse_if_away(self) -> None:
        if self.breaker.is_open:
            said = self.breaker.cause
            message = SILENT if said is None else f"The database cannot be used: {said}"
            raise _unavailable(said or ASKED_AGAIN, message)


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
            "timeout": options.connect_seconds,
            "server_settings": {
                "application_name": options.application,
                "statement_timeout": str(int(options.statement_seconds * 1000)),
                "idle_in_transaction_session_timeout": "60000",
                "jit": "off",
            },
        },
    )
    event.listen(engine.sync_engine, "checkout", _refuse_closed)
    breaker = Breaker(lambda: _answers(url, options.application), options.watch_seconds)
    try:
        yield Database(engine, breaker)
    finally:
        await breaker.stop()
        await engine.dispose()


async def _answers(url: str, application: str) -> bool:
    """On a connection of its own, because those of the pool may all be waiting for an answer that never comes."""
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            connection = await asyncpg.connect(url, server_settings={"application_name": f"{application} probe"})
            try:
                await connection.execute("SELECT 1")
            finally:
                connection.terminate()
    except Exception as problem:
        if not (is_outage(problem) or isinstance(problem, asyncpg.InterfaceError)):
            raise
        return False
    return True


def dialect_url(url: str) -> URL:
    """A plain postgresql:// URL, for SQLAlchemy on asyncpg."""
    return make_url(url).set(drivername="postgresql+asyncpg")


def _refuse_closed(dbapi_connection: object, _record: object, _proxy: object) -> None:
    """After an outage the pool still holds dead connections; a fresh one takes their place unnoticed."""
    if dbapi_connection.driver_connection.is_closed():  # type: ignore[attr-defined]
        raise exc.DisconnectionError


class _typed_outage:  # noqa: N801 - reads as a verb at its use
    """Turns every way in which a database can be unreachable into Unavailable, and has the breaker look into it."""

    def __init__(self, breaker: Breaker) -> None:
        self._breaker = breaker

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if problem is not None and is_outage(problem):
            self._breaker.suspect()
            raise _unavailable(_in_a_line(problem)) from problem
        if problem is not None and is_deadlock(problem):
            raise Unavailable(CROSSED, code=BUSY, retry_after_seconds=1, cause=_in_a_line(problem)) from problem


def _unavailable(cause: str, message: str = SILENT) -> Unavailable:
    return Unavailable(message, code=AWAY, retry_after_seconds=5, cause=cause)


def is_deadlock(problem: BaseException) -> bool:
    """Whether PostgreSQL ended this transaction so that another one, which it waited for crosswise, could go on."""
    cause = problem.orig.__cause__ if isinstance(problem, exc.DBAPIError) and problem.orig is not None else problem
    return isinstance(cause, asyncpg.DeadlockDetectedError)


def is_outage(problem: BaseException) -> bool:
    """Whether this error says that the database is away, rather than that a statement is wrong."""
    if isinstance(problem, exc.DBAPIError):
        cause = problem.orig.__cause__ if problem.orig is not None else None
        return problem.connection_invalidated or (cause is not None and is_outage(cause))
    if isinstance(problem, exc.InvalidRequestError | asyncpg.InterfaceError):
        # The pool's word, and the driver's, for a server that hung up on one who had just come.
        return "connection is closed" in str(problem)
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
