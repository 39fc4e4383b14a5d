"""Every source in its own rhythm, side by side: none waits for another, and none ends another."""

import asyncio
from collections.abc import Sequence

from assay.discover.crawl import Asked, Crawler
from assay.discover.source import Source, rhythm_of
from assay.model.repository import RepositoryName
from assay.runtime.loops import keep_going
from assay.store.database.database import Database
from assay.store.discovery.runs import RunRecord
from assay.store.discovery.sources import register_known, register_sources, seconds_until_run

SHORTEST_SLEEP_SECONDS, LONGEST_SLEEP_SECONDS = 0.2, 30.0


async def register(store: Database, sources: Sequence[Source], known: Sequence[RepositoryName]) -> None:
    """Make the sources known as those that are to run, with the answers that they must be able to find."""
    async with store.begin() as db:
        await register_sources(db, [rhythm_of(each) for each in sources], is_scheduled=True)
        await register_known(db, [(each.owner.lower(), each.name.lower()) for each in known])


async def run_schedule(crawler: Crawler, asked: Asked, stopping: asyncio.Event) -> None:
    """Until `stopping`; any number of processes may do so, the lease of each source is one."""
    async with asyncio.TaskGroup() as group:
        for source in crawler.sources:
            group.create_task(_keep_running(crawler, source, asked, stopping))


async def run_once(crawler: Crawler, sources: Sequence[Source], asked: Asked) -> list[RunRecord | None]:
    """Each once, all at the same time; None for one that somebody else runs and goes on to run."""
    return await asyncio.gather(*(_run_when_free(crawler, each, asked) for each in sources))


async def _keep_running(crawler: Crawler, source: Source, asked: Asked, stopping: asyncio.Event) -> None:
    async def turn() -> float:
        await crawler.run(source, asked, stopping)
        async with crawler.store.begin() as db:
            seconds = await seconds_until_run(db, source.name)
        return min(max(seconds, SHORTEST_SLEEP_SECONDS), LONGEST_SLEEP_SECONDS)

    what = "A source is not run for now"
    await keep_going(turn, stopping, what, after_seconds=LONGEST_SLEEP_SECONDS, source=source.name)


async def _run_when_free(crawler: Crawler, source: Source, asked: Asked) -> RunRecord | None:
    """A runner that died a moment ago still has the lease: wait until it is over, once."""
    ended = await crawler.run(source, asked)
    if ended is None:
        await asyncio.sleep(crawler.lease_seconds + SHORTEST_SLEEP_SECONDS)
        ended = await crawler.run(source, asked)
    return ended
