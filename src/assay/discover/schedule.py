"""Scheduled runs: every source runs at its own interval, independently of the others."""

import asyncio
from collections.abc import Sequence

from assay.discover.crawl import Crawler, RunRequest
from assay.discover.source import DiscoverySource, schedule_of
from assay.model.repository import RepositoryName
from assay.runtime.loops import run_until_stopped
from assay.store.database.database import Database
from assay.store.discovery.runs import RunRecord
from assay.store.discovery.sources import register_sources, seconds_until_run, set_known_repositories

SHORTEST_SLEEP_SECONDS, LONGEST_SLEEP_SECONDS = 0.2, 30.0


async def register(store: Database, sources: Sequence[DiscoverySource], known: Sequence[RepositoryName]) -> None:
    """Record the scheduled sources and the known repositories that measure their coverage."""
    async with store.begin() as db:
        await register_sources(db, [schedule_of(each) for each in sources], is_scheduled=True)
        await set_known_repositories(db, [(each.owner.lower(), each.name.lower()) for each in known])


async def run_schedule(crawler: Crawler, request: RunRequest, stopping: asyncio.Event) -> None:
    """Run all sources until `stopping`; several processes may do so, since each source has a lease."""
    async with asyncio.TaskGroup() as group:
        for source in crawler.sources:
            group.create_task(_run_repeatedly(crawler, source, request, stopping))


async def run_once(crawler: Crawler, sources: Sequence[DiscoverySource], request: RunRequest) -> list[RunRecord | None]:
    """Run each source once, concurrently; None for a source that another process keeps running."""
    return await asyncio.gather(*(_run_when_free(crawler, each, request) for each in sources))


async def _run_repeatedly(
    crawler: Crawler, source: DiscoverySource, request: RunRequest, stopping: asyncio.Event
) -> None:
    async def run_source() -> float:
        await crawler.run(source, request, stopping)
        async with crawler.store.begin() as db:
            seconds = await seconds_until_run(db, source.name)
        return min(max(seconds, SHORTEST_SLEEP_SECONDS), LONGEST_SLEEP_SECONDS)

    failure = "Failed to run a discovery source"
    await run_until_stopped(run_source, stopping, failure, after_seconds=LONGEST_SLEEP_SECONDS, source=source.name)


async def _run_when_free(crawler: Crawler, source: DiscoverySource, request: RunRequest) -> RunRecord | None:
    """Run a source; if it is leased, retry once after the lease of a process that may have crashed has expired."""
    ended = await crawler.run(source, request)
    if ended is None:
        await asyncio.sleep(crawler.lease_seconds + SHORTEST_SLEEP_SECONDS)
        ended = await crawler.run(source, request)
    return ended
