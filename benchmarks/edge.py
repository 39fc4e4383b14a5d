"""The edge copy: enumeration, rebuild and comparison of N listings, and the lag of the projector.

    python -m benchmarks.edge [--listings 200000] [--changes 2000] [--redis redis://…]

Uses LMDB, or the given server. The rebuild is compared with only reading the same rows, the enumeration with only
reading the values; the lag is measured while one writer commits changes as fast as it can.
"""

import argparse
import asyncio
import logging
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import structlog
from sqlalchemy import text

from assay.edge.enumerate import enumerate_published
from assay.edge.keys import SKILL
from assay.edge.kv import Edge, iterate_pages, prefix_range
from assay.edge.open import open_edge
from assay.edge_sync.drift import read_skills_health
from assay.edge_sync.projector import Projector
from assay.edge_sync.rebuild import rebuild
from assay.serve.operations.edge_copy import PublishedCopy
from assay.serve.skills.edge_lists import page_of_cards, search_cards
from assay.store.database.database import Database, open_database
from assay.store.database.embedded import EmbeddedServer
from assay.store.database.migrate import migrate
from assay.store.feed.edge_rows import details_of, live_skills, read_lag
from benchmarks.population import COMMIT, CONTENT, DIGEST, SCAN

LISTED, CHANGES = 200_000, 2_000
OPTIONS = ("shared_buffers=512MB", "fsync=off", "max_wal_size=4GB")
LISTINGS = f"""
WITH listed AS (
    INSERT INTO skill (id, name, repository_id, skill_path, display_name, description, author, tier, method, score,
        trust_score, trust_tier, current_version_id)
    SELECT uuidv7(), format('%s/repo-%s/skill-%s', left(md5(number::text), 6), number % 100, number), :repository_id,
        'skills/' || number || '/SKILL.md', 'Skill ' || number,
        'Writes reports about thing ' || number || ' from tables and charts, and explains what they mean. ' ||
        repeat('It says more than that. ', 8), 'bench', 'SCANNED', 'static', 90, 50, 'T2', uuidv7()
    FROM generate_series(1, CAST(:number AS int)) AS number
    RETURNING id, current_version_id
)
INSERT INTO skill_version (id, skill_id, version, ordinal, content_digest, commit, scan_id, tier, score, hallmark)
SELECT current_version_id, listed.id, '1.0.0', 1, '{DIGEST}', '{COMMIT}', scan.id, 'SCANNED', 90, '{{}}'
FROM listed, scan
"""
CHANGE = text(
    """
    WITH changed AS (
        UPDATE skill SET updated_at = clock_timestamp() WHERE id = (SELECT id FROM skill OFFSET :place LIMIT 1)
        RETURNING id, name
    )
    INSERT INTO change (kind, skill_id, data) SELECT 'update', id, jsonb_build_object('name', name) FROM changed
    """
)


def now() -> datetime:
    return datetime.now(UTC)


async def measure(listings: int, changes: int, redis_url: str | None = None) -> dict[str, float]:
    """Return all figures, in seconds and ratios."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        server = EmbeddedServer(Path(folder) / "postgres")
        Path(folder).chmod(0o755)
        server.start(OPTIONS)
        try:
            async with open_database(server.url) as store:
                await migrate(store)
                await _fill(store, listings)
                edge = open_edge(redis_url or f"lmdb:{folder}/edge", Path(folder))
                await edge.clear()
                figures = await _figures(store, server.url, edge, listings, changes)
                await edge.close()
        finally:
            server.stop()
    return figures


async def _figures(store: Database, url: str, edge: Edge, listings: int, changes: int) -> dict[str, float]:
    figures: dict[str, float] = {}
    bare = await _timed(_read_rows(store))
    before, most = _megabytes(), 0.0

    def observe(_at: object) -> None:
        nonlocal most
        most = max(most, _megabytes())

    figures["rebuild, seconds"] = await _timed(rebuild(store, edge, now, progress=observe))
    figures["rebuild, listings a second"] = listings / figures["rebuild, seconds"]
    figures["rebuild against reading the rows alone"] = figures["rebuild, seconds"] / bare
    figures["rebuild, MB of memory more at the highest point"] = most - before
    values = await _timed(_read_values(edge))
    figures["enumeration, seconds"] = await _timed(enumerate_published(edge, lambda skill: skill.name))
    figures["enumeration against the bare values"] = figures["enumeration, seconds"] / values
    figures["comparison (health), seconds"] = await _timed(read_skills_health(store, edge))
    figures |= await _degraded(edge)
    lags = await _lags(store, url, edge, changes, listings)
    figures["projector lag p50, ms"] = statistics.median(lags) * 1000
    figures["projector lag p99, ms"] = sorted(lags)[int(len(lags) * 0.99)] * 1000
    return figures


async def _degraded(edge: Edge) -> dict[str, float]:
    copy, before = PublishedCopy(edge, now), _megabytes()
    first = await _timed(copy.snapshot())
    snapshot = await copy.snapshot()
    started = time.perf_counter()
    await copy.skills(page_of_cards(snapshot, cursor=None, limit=50).cards)
    page = time.perf_counter() - started
    started = time.perf_counter()
    search_cards(snapshot, "reports charts")
    return {
        "degraded: first request, seconds": first,
        "degraded: page of 50, ms": page * 1000,
        "degraded: search of a common word, ms": (time.perf_counter() - started) * 1000,
        "degraded: MB of memory for the catalogue": _megabytes() - before,
    }


async def _lags(store: Database, url: str, edge: Edge, changes: int, listings: int) -> list[float]:
    """Commit changes while the projector runs, and sample the age of the oldest change that it has not applied."""
    stopping, lags = asyncio.Event(), []
    async with open_database(url) as copying:
        running = asyncio.create_task(Projector(copying, edge, now).run(url, stopping))
        for number in range(changes):
            async with store.begin() as db:
                await db.execute(CHANGE, {"place": number * 7 % min(listings, 1000)})
            if number % 10 == 0:
                async with store.begin() as db:
                    lag = await read_lag(db, await edge.read_serial())
                lags.append((lag.now - lag.since).total_seconds() if lag.since else 0.0)
        stopping.set()
        await running
    return lags or [0.0]


async def _fill(store: Database, listings: int) -> None:
    async with store.begin() as db:
        await db.execute(text("SET LOCAL statement_timeout = 0"))
        repository = "INSERT INTO repository (host, owner, name) VALUES ('github', 'bench', 'bench') RETURNING id"
        repository_id = (await db.execute(text(repository))).scalar_one()
        await db.execute(text(CONTENT))
        await db.execute(text(SCAN))
        await db.execute(text(LISTINGS), {"repository_id": repository_id, "number": listings})
    async with store.engine.connect() as connection:
        await connection.execution_options(isolation_level="AUTOCOMMIT")
        await connection.execute(text("SET statement_timeout = 0"))
        await connection.execute(text("VACUUM ANALYZE"))


async def _read_rows(store: Database) -> None:
    after: UUID | None = None
    while True:
        async with store.begin() as db:
            rows = await live_skills(db, after, 500)
            await details_of(db, rows)
        if len(rows) < 500:
            return
        after = rows[-1].id


async def _read_values(edge: Edge) -> None:
    async for _ in iterate_pages(edge, prefix_range(SKILL)):
        pass


async def _timed(work: object) -> float:
    started = time.perf_counter()
    await work  # type: ignore[misc]
    return time.perf_counter() - started


def _megabytes() -> float:
    """Return the anonymous memory of this process, without mapped files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listings", type=int, default=LISTED)
    parser.add_argument("--changes", type=int, default=CHANGES)
    parser.add_argument("--redis", default=None, help="URL of a Redis or Valkey server, instead of LMDB")
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    for name, value in asyncio.run(measure(options.listings, options.changes, options.redis)).items():
        print(f"{name:60} {value:12.2f}")


if __name__ == "__main__":
    main()
