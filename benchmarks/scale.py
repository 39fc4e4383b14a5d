"""Reading the queue with 3 million submissions compared with 30 thousand; an operation that does not grow has ratio 1.

    python -m benchmarks.scale [--submissions 30000] [--times 100]

Two databases of the embedded PostgreSQL have the same proportions, so that the backlog grows with the rest. Each
operation runs alternately on both, many times; the medians are compared.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from uuid import UUID

import asyncpg
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.repository import Host, RepositoryName
from assay.model.submission import ACTIVE, STATE_GROUPS, StateGroup, SubmissionFilters, SubmissionSort, submission_order
from assay.serve.cursor import encode_cursor
from assay.serve.queue.position import read_positions
from assay.serve.queue.queue import QueueQuery, list_fingerprint, read_queue
from assay.serve.queue.stuck import read_stuck
from assay.serve.submissions.stats import read_stats
from assay.serve.submissions.submission import read_submission
from assay.store.database.database import Database, open_database
from assay.store.database.embedded import EmbeddedServer
from assay.store.database.migrate import migrate
from benchmarks.population import Population, populate

REPEATS = 200
WARM_UP = 10
# Enough memory for the larger database; durability does not matter here.
OPTIONS = ("shared_buffers=1GB", "fsync=off", "max_wal_size=8GB")
SAMPLE = text(
    """
    SELECT
        (SELECT id FROM submission WHERE state = 'RECEIVED' ORDER BY created_at OFFSET :half / 100 / 2 LIMIT 1),
        (SELECT id FROM submission WHERE state = 'REJECTED' ORDER BY created_at OFFSET :half / 10 LIMIT 1),
        repository.owner, repository.name, middle.created_at, middle.id
    FROM (SELECT created_at, id FROM submission ORDER BY created_at DESC, id DESC OFFSET :half LIMIT 1) AS middle
        JOIN submission ON submission.id = middle.id JOIN repository ON repository.id = submission.repository_id
    """
)


@dataclass(frozen=True)
class Registry:
    """A filled database, and sample rows of it."""

    store: Database
    population: Population
    waiting: UUID
    rejected: UUID
    repository: RepositoryName
    middle: str


Operation = Callable[[AsyncConnection, Registry], Awaitable[object]]


def _page(query: QueueQuery) -> Operation:
    async def read(db: AsyncConnection, _: Registry) -> object:
        return await read_queue(db, query, datetime.now(UTC))

    return read


async def _deep_page(db: AsyncConnection, registry: Registry) -> object:
    return await read_queue(db, QueueQuery(cursor=registry.middle), datetime.now(UTC))


async def _of_repository(db: AsyncConnection, registry: Registry) -> object:
    return await read_queue(db, QueueQuery(SubmissionFilters(repository=registry.repository)), datetime.now(UTC))


async def _of_words(db: AsyncConnection, registry: Registry) -> object:
    return await read_queue(db, QueueQuery(SubmissionFilters(words=str(registry.repository))), datetime.now(UTC))


async def _stats(db: AsyncConnection, _: Registry) -> object:
    return await read_stats(db, datetime.now(UTC))


async def _stuck(db: AsyncConnection, _: Registry) -> object:
    return await read_stuck(db, datetime.now(UTC), dict.fromkeys(ACTIVE, timedelta(minutes=5)), None, 50)


async def _position(db: AsyncConnection, registry: Registry) -> object:
    return await read_positions(db, [registry.waiting], datetime.now(UTC))


async def _detail(submission: str, db: AsyncConnection, registry: Registry) -> object:
    return await read_submission(db, getattr(registry, submission), datetime.now(UTC))


# One line per operation.
OPERATIONS: dict[str, Operation] = {
    "stats": _stats,
    "list, default page": _page(QueueQuery()),
    "list, category=rejected": _page(QueueQuery(SubmissionFilters(states=STATE_GROUPS[StateGroup.REJECTED]))),
    "list, category=active": _page(QueueQuery(SubmissionFilters(states=STATE_GROUPS[StateGroup.ACTIVE]))),
    "list, sort=updatedAt": _page(QueueQuery(order=submission_order(SubmissionSort.UPDATED_AT))),
    "list, sort=skillName": _page(QueueQuery(order=submission_order(SubmissionSort.SKILL_NAME))),
    "list, sort=state": _page(QueueQuery(order=submission_order(SubmissionSort.STATE))),
    "list, sort=processingOrder": _page(QueueQuery(order=submission_order(SubmissionSort.PROCESSING_ORDER))),
    "list, cursor in the middle": _deep_page,
    "list, offset=10000": _page(QueueQuery(offset=10_000)),
    "list, reason": _page(QueueQuery(SubmissionFilters(reason="source_not_found"))),
    "list, repoUrl": _of_repository,
    "list, q of a skill": _page(QueueQuery(SubmissionFilters(words="quokka"))),
    "list, q of owner/repo": _of_words,
    "list, q of two letters": _page(QueueQuery(SubmissionFilters(words="ai"))),
    "list, q in every 16th": _page(QueueQuery(SubmissionFilters(words="invoice"))),
    "submission that waits": partial(_detail, "waiting"),
    "submission that was refused": partial(_detail, "rejected"),
    "position of one that waits": _position,
    "stuck list": _stuck,
}


async def compare(small: Registry, large: Registry, repeats: int, warm_up: int) -> dict[str, float]:
    """Return milliseconds and ratio of each operation."""
    results: dict[str, float] = {}
    for name, operation in OPERATIONS.items():
        seconds: dict[int, list[float]] = {small.population.submissions: [], large.population.submissions: []}
        for number in range(warm_up + repeats):
            for registry in (small, large) if number % 2 else (large, small):
                taken = await _timed(registry, operation)
                if number >= warm_up:
                    seconds[registry.population.submissions].append(taken)
        medians = {size: statistics.median(taken) for size, taken in seconds.items()}
        for size, median in medians.items():
            results[f"{name}: ms at {size:,}"] = median * 1000
        results[f"{name}: ratio"] = medians[large.population.submissions] / medians[small.population.submissions]
    return results


async def _timed(registry: Registry, operation: Operation) -> float:
    async with registry.store.snapshot() as db:
        started = time.perf_counter()
        await operation(db, registry)
        return time.perf_counter() - started


@asynccontextmanager
async def open_registry(url: str, population: Population) -> AsyncIterator[Registry]:
    """Open a filled database and read the rows that the operations need."""
    async with open_database(url) as store:
        async with store.snapshot() as db:
            sample = (await db.execute(SAMPLE, {"half": population.submissions // 2})).one()
        waiting, rejected, owner, name, *middle = sample
        repository = RepositoryName(Host.GITHUB, owner, name)
        cursor = encode_cursor(list_fingerprint(QueueQuery()), middle)
        yield Registry(store, population, waiting, rejected, repository, cursor)


@asynccontextmanager
async def a_server() -> AsyncIterator[EmbeddedServer]:
    """Run a PostgreSQL in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="assay-scale-") as folder:
        server = EmbeddedServer(Path(folder) / "postgres")
        server.start(OPTIONS)
        try:
            yield server
        finally:
            server.stop()


async def _fill(server: EmbeddedServer, population: Population) -> str:
    """Create and fill a database on this server; return its URL."""
    name = f"of_{population.submissions}"
    admin = await asyncpg.connect(server.url)
    await admin.execute(f"CREATE DATABASE {name}")
    await admin.close()
    url = server.url.replace("/assay?", f"/{name}?")
    async with open_database(url) as store:
        await migrate(store)
    await populate(url, population)
    return url


async def measure(submissions: int, repeats: int, *, times: int = 100, warm_up: int = WARM_UP) -> dict[str, float]:
    """Return all figures for `submissions`, and for `times` as many."""
    small, large = Population(submissions), Population(submissions * times)
    async with a_server() as server, AsyncExitStack() as stack:
        urls = [await _fill(server, population) for population in (small, large)]
        registries = [
            await stack.enter_async_context(open_registry(url, population))
            for url, population in zip(urls, (small, large), strict=True)
        ]
        return await compare(*registries, repeats, warm_up)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=30_000)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    options = parser.parse_args()
    for name, value in asyncio.run(measure(options.submissions, options.repeats, times=options.times)).items():
        print(f"{name:60} {value:10.2f}")


if __name__ == "__main__":
    main()
