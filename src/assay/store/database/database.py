"""The connection pool, and the conversion of every outage to a typed error."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg
from sqlalchemy import event, exc, make_url, text
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from assay.model.errors import Unavailable
from assay.store.database.breaker import DatabaseBreaker

DATABASE_UNAVAILABLE = "database_unavailable"
PROBE_SECONDS = 3
DATABASE_BUSY = "database_busy"
DEADLOCK_MESSAGE = "Another request is changing the same records. Nothing was changed; try again."
UNREACHABLE_MESSAGE = "The database does not answer."
PROBING = "it is probed in the background until it answers"


@dataclass(frozen=True)
class PoolOptions:
    """Pool size and time limits. Without `watch_seconds` the database is probed only after a failed statement."""

    size: int = 10
    wait_seconds: float = 30
    connect_seconds: float = 5
    watch_seconds: float | None = None
    statement_seconds: float = 15
    application: str = "assay"


@dataclass(frozen=True)
class Database:
    """PostgreSQL for one process. While the circuit breaker is open, every transaction raises Unavailable at once."""

    engine: AsyncEngine
    breaker: DatabaseBreaker

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncConnection]:
        """Open a transaction: committed at the end, rolled back on any exception."""
        self._raise_if_open()
        with _typed_outage(self.breaker):
            async with self.breaker.raise_on_outage(), self.engine.begin() as connection:
                yield connection

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[AsyncConnection]:
        """Open a read-only transaction in which every statement sees the same snapshot."""
        self._raise_if_open()
        with _typed_outage(self.breaker):
            async with self.breaker.raise_on_outage(), self.engine.connect() as connection:
                await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
                yield connection

    async def ping(self) -> None:
        """Query the database even if the breaker is open. Raises Unavailable if it does not answer."""
        with _typed_outage(self.breaker):
            async with asyncio.timeout(PROBE_SECONDS), self.engine.begin() as connection:
                await connection.execute(text("SELECT 1"))
        self.breaker.close()

    def _raise_if_open(self) -> None:
        if self.breaker.is_open:
            cause = self.breaker.cause
            message = UNREACHABLE_MESSAGE if cause is None else f"The database cannot be used: {cause}"
            raise _unavailable(cause or PROBING, message)


@asynccontextmanager
async def open_database(url: str, options: PoolOptions | None = None) -> AsyncIterator[Database]:
    """Open a pool that connects on demand; closes all connections at the end."""
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
    breaker = DatabaseBreaker(lambda: _is_reachable(url, options.application), options.watch_seconds)
    try:
        yield Database(engine, breaker)
    finally:
        await breaker.stop()
        await engine.dispose()


async def _is_reachable(url: str, application: str) -> bool:
    """Probe on a separate connection, because all connections of the pool may be hanging."""
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            connection = await asyncpg.connect(url, server_settings={"application_name": f"{application} probe"})
            try:
                await connection.execute("SELECT 1")
            finally:
                connection.terminate()
    except Exception as error:
        if not (is_outage(error) or isinstance(error, asyncpg.InterfaceError)):
            raise
        return False
    return True


def dialect_url(url: str) -> URL:
    """Convert a plain postgresql:// URL for SQLAlchemy on asyncpg."""
    return make_url(url).set(drivername="postgresql+asyncpg")


def _refuse_closed(dbapi_connection: object, _record: object, _proxy: object) -> None:
    """Let the pool replace connections that died in an outage."""
    if dbapi_connection.driver_connection.is_closed():  # type: ignore[attr-defined]
        raise exc.DisconnectionError


class _typed_outage:  # noqa: N801 - reads as a verb at its use
    """Convert outages and deadlocks to Unavailable, and report outages to the circuit breaker."""

    def __init__(self, breaker: DatabaseBreaker) -> None:
        self._breaker = breaker

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and is_outage(error):
            self._breaker.report_failure()
            raise _unavailable(_first_line(error)) from error
        if error is not None and is_deadlock(error):
            raise Unavailable(
                DEADLOCK_MESSAGE, code=DATABASE_BUSY, retry_after_seconds=1, cause=_first_line(error)
            ) from error


def _unavailable(cause: str, message: str = UNREACHABLE_MESSAGE) -> Unavailable:
    return Unavailable(message, code=DATABASE_UNAVAILABLE, retry_after_seconds=5, cause=cause)


def is_deadlock(error: BaseException) -> bool:
    """Return whether PostgreSQL aborted the transaction to resolve a deadlock."""
    cause = error.orig.__cause__ if isinstance(error, exc.DBAPIError) and error.orig is not None else error
    return isinstance(cause, asyncpg.DeadlockDetectedError)


def is_outage(error: BaseException) -> bool:
    """Return whether the error means that the database is down, rather than that a statement is wrong."""
    if isinstance(error, exc.DBAPIError):
        cause = error.orig.__cause__ if error.orig is not None else None
        return error.connection_invalidated or (cause is not None and is_outage(cause))
    if isinstance(error, exc.InvalidRequestError | asyncpg.InterfaceError):
        # Raised by the pool and the driver when the server closes a connection that was just opened.
        return "connection is closed" in str(error)
    return isinstance(
        error,
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


def _first_line(error: BaseException) -> str:
    """Return the first line of the underlying error. It may name hosts and databases, but no passwords."""
    cause = error.orig.__cause__ if isinstance(error, exc.DBAPIError) and error.orig is not None else error
    return next(iter(str(cause).splitlines()), type(cause).__name__)
