"""Search and lists: median and 99th percentile in milliseconds, absolute and relative to the bare SQL.

    python -m benchmarks.search [100000 1000000] [--repeats 200]

There is one database of the embedded PostgreSQL per size. Each operation runs with new words each time; the same
statements are then run again on a bare connection. `grows` compares the largest size with the smallest.
"""

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.category import Category
from assay.model.skill import SkillFilters, SkillSort, Tier
from assay.serve.skills.listing import read_listing
from assay.serve.skills.query import SkillQuery
from assay.serve.skills.search import read_skills
from assay.store.database.database import Database, open_database
from assay.store.database.embedded import EmbeddedServer
from assay.store.database.migrate import migrate
from benchmarks.catalogue import COMMON, RARE, REAL, Catalogue, fill_catalogue
from benchmarks.scale import a_server

SIZES = (100_000, 1_000_000)
REPEATS = 200
WARM_UP = 10
SAMPLE = text(
    "SELECT skill.name, repository.owner, repository.name FROM skill TABLESAMPLE BERNOULLI (:percent) "
    "JOIN repository ON repository.id = skill.repository_id LIMIT 500"
)
# Consonants only, so that random strings of them match no skill.
MISS = "bcdfghjklmnpqrstvwxz"


@dataclass(frozen=True)
class Filled:
    """A filled database, and sample rows of it."""

    size: int
    url: str
    store: Database
    sample: list[tuple[str, str, str]]


Operation = Callable[[AsyncConnection, Filled, random.Random], Awaitable[object]]


def _search(words: Callable[[Filled, random.Random], str], filters: SkillFilters = SkillFilters()) -> Operation:
    async def read(db: AsyncConnection, filled: Filled, chance: random.Random) -> object:
        return await read_skills(db, SkillQuery(words(filled, chance), filters, limit=30))

    return read


def _list(query: SkillQuery) -> Operation:
    async def read(db: AsyncConnection, _: Filled, __: random.Random) -> object:
        return await read_skills(db, query)

    return read


async def _skill_page(db: AsyncConnection, filled: Filled, chance: random.Random) -> object:
    return await read_listing(db, chance.choice(filled.sample)[0])


async def _of_author(db: AsyncConnection, filled: Filled, chance: random.Random) -> object:
    return await read_skills(db, SkillQuery(filters=SkillFilters(author=chance.choice(filled.sample)[1]), limit=30))


WORDS = REAL.split()
# One line per operation.
OPERATIONS: dict[str, Operation] = {
    "word": _search(lambda _, chance: chance.choice(WORDS[30:])),
    "rare word": _search(lambda *_: RARE),
    "common word": _search(lambda *_: COMMON),
    "word that all have": _search(lambda *_: WORDS[0]),
    "two words": _search(lambda _, chance: " ".join(chance.sample(WORDS[20:], 2))),
    "prefix": _search(lambda _, chance: chance.choice(WORDS[30:])[:4]),
    "two letters": _search(lambda _, chance: chance.choice(WORDS)[:2]),
    "word in a category": _search(
        lambda _, chance: chance.choice(WORDS[10:]), SkillFilters(category=Category.SECURITY)
    ),
    "name": _search(lambda filled, chance: chance.choice(filled.sample)[0]),
    "owner/repo": _search(lambda filled, chance: "/".join(chance.choice(filled.sample)[1:])),
    "repository part": _search(lambda filled, chance: chance.choice(filled.sample)[2][1:]),
    "miss": _search(lambda _, chance: "".join(chance.choices(MISS, k=9))),
    "typing mistake": _search(lambda _, chance: (word := chance.choice(WORDS[30:]))[:2] + "q" + word[2:]),
    "list": _list(SkillQuery(limit=30)),
    "list by stars": _list(SkillQuery(sort=SkillSort.STARS, limit=30)),
    "list of a category": _list(SkillQuery(filters=SkillFilters(category=Category.DESIGN), limit=30)),
    "list of a rare tier by installs": _list(
        SkillQuery(filters=SkillFilters(tier=Tier.CERTIFIED), sort=SkillSort.INSTALLS, limit=30)
    ),
    "list of a label": _list(SkillQuery(filters=SkillFilters(labels=frozenset({"kubernetes"})), limit=30)),
    "list of an author": _of_author,
    "skill page": _skill_page,
}


async def measure(sizes: tuple[int, ...], repeats: int, warm_up: int = WARM_UP) -> dict[str, float]:
    """Return all figures for all sizes."""
    results: dict[str, float] = {}
    async with a_server() as server, AsyncExitStack() as stack:
        catalogues = [await _open(stack, server, size) for size in sizes]
        for name, operation in OPERATIONS.items():
            for filled in catalogues:
                results |= await _compare(name, operation, filled, repeats, warm_up)
            for figure in ("p50", "p99") if len(sizes) > 1 else ():
                first, last = (results[f"{name}: {figure} ms at {size:,}"] for size in (sizes[0], sizes[-1]))
                results[f"{name}: {figure} grows"] = last / first
    return results


async def _open(stack: AsyncExitStack, server: EmbeddedServer, size: int) -> Filled:
    admin = await asyncpg.connect(server.url)
    await admin.execute(f"CREATE DATABASE of_{size}")
    await admin.close()
    url = server.url.replace("/assay?", f"/of_{size}?")
    async with open_database(url) as store:
        await migrate(store)
    await fill_catalogue(url, Catalogue(size))
    store = await stack.enter_async_context(open_database(url))
    async with store.snapshot() as db:
        # Sample all rows of a small database, and some of a large one.
        found = await db.execute(SAMPLE, {"percent": min(100.0, 200_000 / size)})
        sample = [(row[0], row[1], row[2]) for row in found]
    return Filled(size, url, store, sample)


async def _compare(name: str, operation: Operation, filled: Filled, repeats: int, warm_up: int) -> dict[str, float]:
    chance = random.Random(11)
    ours, bare = [], []
    connection = await asyncpg.connect(filled.url, server_settings={"jit": "off"})
    try:
        for number in range(warm_up + repeats):
            async with filled.store.snapshot() as db:
                with record_statements(filled.store) as statements:
                    started = time.perf_counter()
                    await operation(db, filled, chance)
                    taken = time.perf_counter() - started
            again = await _replay(connection, statements)
            if number >= warm_up:
                ours.append(taken)
                bare.append(again)
    finally:
        await connection.close()
    size = f"at {filled.size:,}"
    p50, p99 = _percentiles(ours)
    bare_p50, bare_p99 = _percentiles(bare)
    return {
        f"{name}: p50 ms {size}": p50,
        f"{name}: p99 ms {size}": p99,
        f"{name}: p50 / bare SQL {size}": p50 / bare_p50,
        f"{name}: p99 / bare SQL {size}": p99 / bare_p99,
    }


@contextmanager
def record_statements(store: Database) -> Iterator[list[tuple[str, tuple[Any, ...]]]]:
    """Record all SQL statements of the block, with their values."""
    seen: list[tuple[str, tuple[Any, ...]]] = []

    def record(_connection: Any, _cursor: Any, statement: str, values: Any, *_others: Any) -> None:
        seen.append((statement, values))

    event.listen(store.engine.sync_engine, "before_cursor_execute", record)
    try:
        yield seen
    finally:
        event.remove(store.engine.sync_engine, "before_cursor_execute", record)


async def _replay(connection: asyncpg.Connection, statements: list[tuple[str, tuple[Any, ...]]]) -> float:
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        started = time.perf_counter()
        for statement, values in statements:
            await connection.fetch(statement, *values)
        return time.perf_counter() - started


def _percentiles(seconds: list[float]) -> tuple[float, float]:
    hundredths = statistics.quantiles(seconds, n=100, method="inclusive")
    return hundredths[49] * 1000, hundredths[98] * 1000


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--repeats", type=int, default=REPEATS)
    options = parser.parse_args()
    for name, value in asyncio.run(measure(tuple(sorted(options.sizes)), options.repeats)).items():
        print(f"{name:60} {value:10.2f}")


if __name__ == "__main__":
    main()
