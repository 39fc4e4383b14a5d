"""Admin routes of discovery: run sources, submit repositories by name, and read statistics."""

import asyncio
from dataclasses import replace

from litestar import Router, get, post
from litestar.params import JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.app.app import App
from assay.app.discovery import crawl_request, open_crawler
from assay.discover.all_sources import select_sources
from assay.discover.crawl import Crawler, RunRequest
from assay.discover.dry_run import dry_run_source
from assay.discover.repository_names import parse_repository
from assay.discover.source import DiscoverySource
from assay.discover.sources.named_repositories import NamedRepositories
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
    present_coverage,
    present_dry_run,
    present_run,
    present_source,
)
from assay.web.http.access import ADMIN
from assay.web.http.context import Assay, CalledBy
from assay.web.http.errors import problems

BULK = "bulk"
BULK_SECONDS = 60
REFUSALS = problems(400, 401, 403, 413, 415, 503)


@post("/", summary="Run discovery sources", status_code=HTTP_200_OK, responses={**REFUSALS, **problems(404)})
async def run_discovery(assay: Assay, caller: CalledBy, data: JSONBody[DiscoveryBody]) -> DiscoveryRunsView:
    """Run one source or all of them concurrently, for at most `seconds`; the next run resumes unfinished ones."""
    request = crawl_request(assay.settings, caller.name, max_results=data.max_results, is_manual=True)
    request = replace(request, timeout_seconds=data.seconds)
    async with open_crawler(assay) as crawler:
        sources = select_sources(crawler.sources, data.source)
        run = _try_out if data.dry_run else _run
        views = await asyncio.gather(*(run(crawler, each, request) for each in sources))
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


@post("/bulk", summary="Inspect repositories", status_code=HTTP_200_OK, responses={**REFUSALS, **problems(409)})
async def bulk_discovery(assay: Assay, caller: CalledBy, data: JSONBody[DiscoveryBulkBody]) -> DiscoveryBulkView:
    """Inspect repositories immediately and submit their skills, even if they are known.

    An invalid repository does not affect the others.
    """
    hosts = assay.settings.github_web_url, assay.settings.git_hosts
    requested = {text: parse_repository(text, *hosts) for text in data.repositories}
    names = {each.key: each for each in requested.values() if each is not None}
    source = NamedRepositories([Candidate(each, changed_at=assay.clock.now()) for each in names.values()], BULK)
    request = crawl_request(assay.settings, caller.name, is_manual=True)
    async with open_crawler(assay) as crawler:
        ended = await crawler.run(source, replace(request, timeout_seconds=BULK_SECONDS))
    if ended is None:
        raise Conflict("Another bulk request is in progress. Try again when it has finished.", code="discovery_busy")
    async with assay.store.begin() as db:
        records = await read_records(db, list(names.values()))
    enqueued = {name.lower(): count for name, count in ended.counters.repo_stats.items()}
    results = []
    for text in data.repositories:
        name = requested[text]
        record = records.get(str(name).lower()) if name else None
        results.append(_item(text, record, enqueued.get(str(name).lower(), 0)))
    await _record(assay, caller, "discovery_bulk", f"{len(data.repositories)} repositories", [present_run(ended)])
    errors = sum(each.error is not None for each in results)
    return DiscoveryBulkView(ok=True, enqueued=ended.counters.enqueued, errors=errors, results=results)


@get("/stats", summary="Get discovery statistics", responses=problems(400, 401, 403, 503))
async def discovery_stats(assay: Assay) -> DiscoveryStatsView:
    """Return the last run, the next run, the lease and the alarms of each source, and the overall coverage."""
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


async def _run(crawler: Crawler, source: DiscoverySource, request: RunRequest) -> RunView:
    ended = await crawler.run(source, request)
    if ended is not None:
        return present_run(ended)
    return RunView(source.name, "busy", 0, 0, 0, 0, 0, 0, 0, 0, {}, "The source is being run by another process.")


async def _try_out(crawler: Crawler, source: DiscoverySource, request: RunRequest) -> RunView:
    return present_dry_run(await dry_run_source(crawler, source, request))


def _item(text: str, record: RecordFacts | None, enqueued: int) -> BulkItemView:
    if record is None:
        return BulkItemView(
            text, None, 0, 0, "This is not the name or URL of a repository that this registry can read."
        )
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
