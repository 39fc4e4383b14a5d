"""Alarms for discovery that no longer works."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from assay.app.discovery import open_crawler
from assay.discover.crawl import RunRequest
from assay.discover.schedule import register, run_schedule
from assay.discover.source import Cadence
from assay.model.errors import Unavailable
from assay.serve.discovery.alarms import discovery_alarms
from assay.serve.operations.alarm import ALARM_MEANINGS, ALARM_REMEDIES, AlarmCode
from assay.store.discovery.sources import Coverage, DiscoveryFacts, SourceRecord
from tests.support.discover.crawling import FailingSource, ScriptedSource, add_repositories, crawl, repository_name
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


def raised(coverage: Coverage | None = None, **changes: Any) -> list[tuple[AlarmCode, str | None]]:
    facts = DiscoveryFacts((replace(WELL, **changes),), coverage or Coverage(10, 10))
    return [(alarm.code, alarm.subject) for alarm in discovery_alarms(facts, NOW)]


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        (AlarmCode.DISCOVERY_OVERDUE, {"next_run_at": NOW - timedelta(minutes=6)}),
        (
            AlarmCode.DISCOVERY_OVERDUE,
            {"next_run_at": NOW - timedelta(hours=3), "lease_until": NOW - timedelta(hours=2)},
        ),
        (AlarmCode.DISCOVERY_FAILING, {"failures": 3, "problem": "No such host."}),
        (AlarmCode.DISCOVERY_FLOOR, {"new_at": NOW - timedelta(hours=3)}),
        (AlarmCode.DISCOVERY_FLOOR, {"new_at": None}),
        (AlarmCode.SOURCE_DARK, {"flat_runs": 3}),
        (AlarmCode.DISCOVERY_BLIND, {"sees": False}),
        (AlarmCode.DISCOVERY_BLIND, {"known_now": 0}),
    ],
)
def test_each_discovery_failure_has_its_alarm(code: AlarmCode, changes: dict[str, Any]) -> None:
    """G90: dead scheduler, failing source, too few results, no results, blind detector."""
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
def test_healthy_discovery_raises_no_alarm(changes: dict[str, Any]) -> None:
    """G90: unscheduled sources are not missed."""
    assert [] == raised(**changes)


def test_coverage_of_known_repositories() -> None:
    """G90: 36 of 50 is an alarm, but not before a full read."""
    poor = Coverage(50, 36, ("a/b",))
    assert [(AlarmCode.DISCOVERY_COVERAGE, None)] == raised(poor)
    assert [] == raised(poor, completed_at=None)
    assert [] == raised(Coverage(50, 40))
    assert 1.0 == Coverage().share


def test_every_discovery_alarm_has_a_meaning_and_a_remedy() -> None:
    """G90."""
    for code in AlarmCode:
        assert ALARM_MEANINGS[code] and ALARM_REMEDIES[code]


@pytest.fixture
async def scheduled(registry: Registry) -> AsyncIterator[ScriptedSource]:
    """Return a scheduled source with two known repositories."""
    add_repositories(registry, 2)
    source = ScriptedSource([["acme/repo-0"]], cadence=Cadence(every_seconds=3_600, floor_seconds=3_600))
    await register(registry.app.store, [source], [repository_name("acme/repo-0"), repository_name("acme/repo-1")])
    yield source


async def health(registry: Registry) -> tuple[dict[str, Any], set[str]]:
    answer = (await registry.client.get("/api/v1/queue/health")).json()
    codes = {each["code"] for each in answer["alarms"]}
    return answer["discovery"], {code for code in codes if code.startswith(("discovery", "source_dark"))}


async def test_discovery_in_health_and_metrics(registry: Registry, scheduled: ScriptedSource) -> None:
    """G90."""
    await crawl(registry, scheduled)
    shown, codes = await health(registry)
    assert {"known": 2, "covered": 1, "share": 0.5, "missing": ["acme/repo-1"]} == shown["coverage"]
    assert {"discovery_coverage"} == codes
    metrics = (await registry.client.get("/metrics")).text
    assert "assay_discovery_coverage 0.5" in metrics
    assert 'assay_discovery_found{source="scripted"} 1.0' in metrics
    assert 'assay_alarm{code="discovery_coverage"} 1.0' in metrics


async def test_source_without_new_results_raises_alarms(registry: Registry, scheduled: ScriptedSource) -> None:
    """G90: runs continue, but the counter does not move and known repositories are missing."""
    await crawl(registry, scheduled)
    for _ in range(3):
        scheduled.script = [[]]
        await crawl(registry, scheduled)
    _, codes = await health(registry)
    assert {"source_dark", "discovery_blind", "discovery_coverage"} == codes


async def test_failed_discovery_probe_raises_an_alarm(registry: Registry, scheduled: ScriptedSource) -> None:
    """G90."""
    scheduled.script, scheduled.sees = [["acme/repo-0", "acme/repo-1"]], False
    await crawl(registry, scheduled)
    assert {"discovery_blind"} == (await health(registry))[1]
    scheduled.sees = True
    await crawl(registry, scheduled)
    assert set() == (await health(registry))[1]


async def test_dead_scheduler_raises_an_alarm(registry: Registry, scheduled: ScriptedSource) -> None:
    """G90."""
    scheduled.script = [["acme/repo-0", "acme/repo-1"]]
    await crawl(registry, scheduled)
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE discovery_source SET next_run_at = now() - interval '1 hour'"))
    assert {"discovery_overdue"} == (await health(registry))[1]


async def test_sources_run_on_schedule_until_stopped(registry: Registry, scheduled: ScriptedSource) -> None:
    """G87: a failing one does not delay the others."""
    broken = FailingSource(Unavailable("No such host."))
    broken.name = "broken"
    quick = ScriptedSource([["acme/repo-0"]], name="quick", cadence=Cadence(every_seconds=0.01))
    stopping = asyncio.Event()
    async with open_crawler(registry.app) as crawler:
        crawler = replace(crawler, sources=[broken, quick])
        running = asyncio.create_task(run_schedule(crawler, RunRequest("test"), stopping))
        async with asyncio.timeout(60):
            while len(quick.pages_read) < 3:
                await asyncio.sleep(0.02)
        stopping.set()
        await running
    async with registry.app.store.begin() as db:
        rows = await db.execute(text("SELECT name, failures FROM discovery_source WHERE name IN ('broken', 'quick')"))
        assert ("quick", 0) in {tuple(row) for row in rows}
