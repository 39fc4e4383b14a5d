"""Discovery by hand: run sources now, take in repositories by name, and see how the sources stand."""

import asyncio
from dataclasses import replace

from litestar import Router, get, post
from litestar.params import JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.app.app import App
from assay.app.discovery import discovery_asked, open_crawler
from assay.discover.all_sources import named
from assay.discover.crawl import Asked, Crawler
from assay.discover.dry_run import try_out
from assay.discover.names import repository_named
from assay.discover.source import Source
from assay.discover.sources.named import Given
from assay.model.account import Caller
from assay.model.discovery import Candidate
from assay.model.errors import Conflict
from assay.serve.discovery.alarms import discovery_alarms
from assay.store.discovery.records import RecordFacts, read_records
from assay.store.discovery.runs import last_runs
from assay.store.discovery.sources import read_discovery
from assay.store.operations.audit import record_audit
from assay.web.discovery.json import (
    BulkItemView,
    DiscoveryBody,
    DiscoveryBulkBody,
    DiscoveryBulkView,
    DiscoveryRunsView,
    DiscoveryStatsView,
    RunView,
    SourceStatsView,
)
from assay.web.discovery.present import present_coverage, present_dry_run, present_run, present_source
from assay.web.http.access import ADMIN
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.problems import problems

BULK = "bulk"
BULK_SECONDS = 60
REFUSALS = problems(400, 401, 403, 413, 415, 503)


@post("/", summary="Run a source, or all", status_code=HTTP_200_OK, responses={**REFUSALS, **problems(404)})
async def run_discovery(assay: Assay, caller: CalledBy, data: JSONBody[DiscoveryBody]) -> DiscoveryRunsView:
    """Side by side, for so many seconds; what is not through by then is gone on with by the next run."""
    asked = discovery_asked(assay.settings, caller.name, max_results=data.max_results, is_asked_for=True)
    asked = replace(asked, timeout_seconds=data.seconds)
    async with open_crawler(assay) as crawler:
        sources = named(crawler.sources, data.source)
        run = _try_out if data.dry_run else _run
        views = await asyncio.gather(*(run(crawler, each, asked) for each in sources))
    if not data.dry_run:
        await _record(assay, caller, "discovery_run", data.source or "all", views)
    return DiscoveryRunsView(
        ok=True,
        dry_run=data.dry_run,
        enqueued=sum(each.enqueued for each in views),
        skipped_dedup=sum(each.skipped_dedup for each in views),
        errors=sum(each.errors for each in views),
        runs=list(views),
    )


@post("/bulk", summary="Take in repositories", status_code=HTTP_200_OK, responses={**REFUSALS, **problems(409)})
async def bulk_discovery(assay: Assay, caller: CalledBy, data: JSONBody[DiscoveryBulkBody]) -> DiscoveryBulkView:
    """Each is looked into now, also if it is known; one that is wrong does not stop the others."""
    hosts = assay.settings.github_web_url, assay.settings.git_hosts
    wanted = {text: repository_named(text, *hosts) for text in data.repositories}
    names = {each.key: each for each in wanted.values() if each is not None}
    source = Given([Candidate(each, changed_at=assay.clock.now()) for each in names.values()], BULK)
    asked = discovery_asked(assay.settings, caller.name, is_asked_for=True)
    async with open_crawler(assay) as crawler:
        ended = await crawler.run(source, replace(asked, timeout_seconds=BULK_SECONDS))
    if ended is None:
        raise Conflict("Another request of this kind is being worked on; send this one again.", code="discovery_busy")
    async with assay.store.begin() as db:
        records = await read_records(db, list(names.values()))
    fresh = {name.lower(): number for name, number in ended.tally.repo_stats.items()}
    results = []
    for text in data.repositories:
        name = wanted[text]
        record = records.get(str(name).lower()) if name else None
        results.append(_item(text, record, fresh.get(str(name).lower(), 0)))
    await _record(assay, caller, "discovery_bulk", f"{len(data.repositories)} repositories", [present_run(ended)])
    errors = sum(each.error is not None for each in results)
    return DiscoveryBulkView(ok=True, enqueued=ended.tally.enqueued, errors=errors, results=results)


@get("/stats", summary="How the sources stand", responses=problems(400, 401, 403, 503))
async def discovery_stats(assay: Assay) -> DiscoveryStatsView:
    """Of each source its last run, its next one, who runs it now, and what is wrong with it."""
    now = assay.clock.now()
    async with assay.store.snapshot() as db:
        facts, runs = await read_discovery(db), await last_runs(db)
    alarms = list(discovery_alarms(facts, now))
    return DiscoveryStatsView(
        generated_at=now,
        sources=[
            SourceStatsView(
                source=present_source(each),
                last_run=present_run(runs[each.name]) if each.name in runs else None,
                alarms=[alarm.message for alarm in alarms if alarm.subject == each.name],
            )
            for each in facts.sources
        ],
        coverage=present_coverage(facts.coverage),
        alarms=[alarm.message for alarm in alarms if alarm.subject is None],
    )


async def _run(crawler: Crawler, source: Source, asked: Asked) -> RunView:
    ended = await crawler.run(source, asked)
    if ended is not None:
        return present_run(ended)
    return RunView(source.name, "busy", 0, 0, 0, 0, 0, 0, 0, 0, {}, "It is being run by somebody else.")


async def _try_out(crawler: Crawler, source: Source, asked: Asked) -> RunView:
    return present_dry_run(await try_out(crawler, source, asked))


def _item(text: str, record: RecordFacts | None, enqueued: int) -> BulkItemView:
    if record is None:
        return BulkItemView(text, None, 0, 0, "It names no repository that can be read here.")
    return BulkItemView(text, record.state, record.skills, enqueued, record.problem)


async def _record(
    assay: App, caller: Caller, action: str, subject: str, runs: list[RunView] | tuple[RunView, ...]
) -> None:
    enqueued = sum(each.enqueued for each in runs)
    async with assay.store.begin() as db:
        await record_audit(db, caller.name, action, subject, {"enqueued": enqueued, "runs": len(runs)})


router = Router(
    "/api/v1/admin/discovery",
    tags=["admin"],
    opt=ADMIN,
    route_handlers=[run_discovery, bulk_discovery, discovery_stats],
)
