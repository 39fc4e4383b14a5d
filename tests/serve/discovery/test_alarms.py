"""Discovery that has gone blind raises an alarm of its own, whichever way it went blind."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from assay.app.discovery import open_crawler
from assay.discover.crawl import Asked
from assay.discover.schedule import register, run_schedule
from assay.discover.source import Cadence
from assay.model.errors import Unavailable
from assay.serve.discovery.alarms import discovery_alarms
from assay.serve.operations.alarm import MEANS, WHAT_TO_DO, Code
from assay.store.discovery.sources import Coverage, DiscoveryFacts, SourceRecord
from tests.support.discover.crawling import Always, Scripted, a_name, crawl, many
from tests.support.registry import Registry

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
WELL = SourceRecord(
    name="code-search",
    every_seconds=3_600,
    floor_seconds=7_200,
    is_scheduled=True,
    known_since=NOW - timedelta(days=9),
    completed_at=NOW - timedelta(minutes=30),
    lease_until=None,
    next_run_at=NOW + timedelta(minutes=30),
    started_at=NOW - timedelta(hours=1),
    finished_at=NOW - timedelta(minutes=30),
    runs=9,
    flat_runs=0,
    failures=0,
    problem=None,
    found=100,
    found_at=NOW - timedelta(minutes=40),
    new_at=NOW - timedelta(hours=1),
    sees=True,
    probed_at=NOW,
    shows_all=True,
    is_through=True,
    cut=0,
    known_ever=5,
    known_now=5,
)


def raised(coverage: Coverage | None = None, **changes: Any) -> list[tuple[Code, str | None]]:
    facts = DiscoveryFacts((replace(WELL, **changes),), coverage or Coverage(10, 10))
    return [(alarm.code, alarm.subject) for alarm in discovery_alarms(facts, NOW)]


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        (Code.DISCOVERY_OVERDUE, {"next_run_at": NOW - timedelta(minutes=6)}),
        (Code.DISCOVERY_OVERDUE, {"next_run_at": NOW - timedelta(hours=3), "lease_until": NOW - timedelta(hours=2)}),
        (Code.DISCOVERY_FAILING, {"failures": 3, "problem": "No such host."}),
        (Code.DISCOVERY_FLOOR, {"new_at": NOW - timedelta(hours=3)}),
        (Code.DISCOVERY_FLOOR, {"new_at": None}),
        (Code.SOURCE_DARK, {"flat_runs": 3}),
        (Code.DISCOVERY_BLIND, {"sees": False}),
        (Code.DISCOVERY_BLIND, {"known_now": 0}),
    ],
)
def test_each_way_of_going_blind_has_its_alarm(code: Code, changes: dict[str, Any]) -> None:
    """G90: scheduler dead, source failing, floor, dark, detector blind."""
    assert [(code, "code-search")] == raised(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"next_run_at": NOW - timedelta(hours=3), "lease_until": NOW + timedelta(seconds=9)},
        {"next_run_at": NOW - timedelta(minutes=4)},
        {"failures": 2},
        {"flat_runs": 2},
        {"sees": None},
        {"known_now": 0, "is_through": False},
        {"known_now": 0, "shows_all": False},
        {"known_now": 0, "known_ever": 0},
        {"is_scheduled": False, "failures": 9, "flat_runs": 9, "new_at": None, "sees": False},
    ],
)
def test_what_is_well_raises_none(changes: dict[str, Any]) -> None:
    """G90: an alarm that is always on is none; what nobody scheduled is not missed."""
    assert [] == raised(**changes)


def test_coverage_counts_known_answers() -> None:
    """G90: 36 of 50 is an alarm; before anything was read whole it is none."""
    poor = Coverage(50, 36, ("a/b",))
    assert [(Code.DISCOVERY_COVERAGE, None)] == raised(poor)
    assert [] == raised(poor, completed_at=None)
    assert [] == raised(Coverage(50, 40))
    assert 1.0 == Coverage().share


def test_every_alarm_says_what_it_means_and_what_to_do() -> None:
    """G90: whoever is woken up knows what to look at."""
    for code in Code:
        assert MEANS[code] and WHAT_TO_DO[code]


@pytest.fixture
async def scheduled(registry: Registry) -> AsyncIterator[Scripted]:
    """A source that is scheduled, with two known answers."""
    many(registry, 2)
    source = Scripted([["acme/repo-0"]], cadence=Cadence(every_seconds=3_600, floor_seconds=3_600))
    await register(registry.app.store, [source], [a_name("acme/repo-0"), a_name("acme/repo-1")])
    yield source


async def health(registry: Registry) -> tuple[dict[str, Any], set[str]]:
    answer = (await registry.client.get("/api/v1/queue/health")).json()
    codes = {each["code"] for each in answer["alarms"]}
    return answer["discovery"], {code for code in codes if code.startswith(("discovery", "source_dark"))}


async def test_health_and_metrics_tell_of_discovery(registry: Registry, scheduled: Scripted) -> None:
    """G90: the coverage of known answers and each source are where everybody looks."""
    await crawl(registry, scheduled)
    shown, codes = await health(registry)
    assert {"known": 2, "covered": 1, "share": 0.5, "missing": ["acme/repo-1"]} == shown["coverage"]
    assert {"discovery_coverage"} == codes
    metrics = (await registry.client.get("/metrics")).text
    assert "assay_discovery_coverage 0.5" in metrics
    assert 'assay_discovery_found{source="scripted"} 1.0' in metrics
    assert 'assay_alarm{code="discovery_coverage"} 1.0' in metrics


async def test_a_source_that_sees_nothing_any_more_is_dark_and_blind(registry: Registry, scheduled: Scripted) -> None:
    """G90: runs go on, the counter stands still, and what it found before is not among it."""
    await crawl(registry, scheduled)
    for _ in range(3):
        scheduled.script = [[]]
        await crawl(registry, scheduled)
    _, codes = await health(registry)
    assert {"source_dark", "discovery_blind", "discovery_coverage"} == codes


async def test_a_probe_that_finds_nothing_is_an_alarm(registry: Registry, scheduled: Scripted) -> None:
    """G90: asked for what is known, and did not see it."""
    scheduled.script, scheduled.sees = [["acme/repo-0", "acme/repo-1"]], False
    await crawl(registry, scheduled)
    assert {"discovery_blind"} == (await health(registry))[1]
    scheduled.sees = True
    await crawl(registry, scheduled)
    assert set() == (await health(registry))[1]


async def test_a_scheduler_that_is_dead_is_missed(registry: Registry, scheduled: Scripted) -> None:
    """G90: nobody runs what is due; whoever asks for the health is told so."""
    scheduled.script = [["acme/repo-0", "acme/repo-1"]]
    await crawl(registry, scheduled)
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE discovery_source SET next_run_at = now() - interval '1 hour'"))
    assert {"discovery_overdue"} == (await health(registry))[1]


async def test_sources_run_by_themselves_until_they_are_stopped(registry: Registry, scheduled: Scripted) -> None:
    """G87: each in its own rhythm; one that always fails does not keep the other from running."""
    broken = Always(Unavailable("No such host."))
    broken.name = "broken"
    quick = Scripted([["acme/repo-0"]], name="quick", cadence=Cadence(every_seconds=0.01))
    stopping = asyncio.Event()
    async with open_crawler(registry.app) as crawler:
        crawler = replace(crawler, sources=[broken, quick])
        running = asyncio.create_task(run_schedule(crawler, Asked("test"), stopping))
        async with asyncio.timeout(60):
            while len(quick.asked_from) < 3:
                await asyncio.sleep(0.02)
        stopping.set()
        await running
    async with registry.app.store.begin() as db:
        rows = await db.execute(text("SELECT name, failures FROM discovery_source WHERE name IN ('broken', 'quick')"))
        assert ("quick", 0) in {tuple(row) for row in rows}
