"""Searches at GitHub's result limit."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from assay.app.discovery import open_crawler
from assay.discover.schedule import register
from assay.discover.source import Cadence, CandidatePage, DiscoverySource, RunCallBudget
from assay.discover.sources.code_search import CodeSearch
from assay.discover.sources.topics import Topics
from assay.model.discovery import RunOutcome
from assay.serve.operations.alarm import INFORMATIVE, AlarmCode
from tests.support.discover.crawling import crawl
from tests.support.fake_github import FakeGitHub
from tests.support.registry import SECRET, Registry
from tests.support.web.metrics import series

TOKEN = "ghp_discovery"
TOPIC = "agent-skills"
KEY = {"X-Internal-Key": SECRET}


@pytest.fixture
def settings(settings: Any) -> Any:
    """Return settings with a token, which code search requires."""
    return type(settings).model_validate({**settings.model_dump(), "github_tokens": (TOKEN,)})


@pytest.fixture(autouse=True)
def _token(github: FakeGitHub) -> None:
    github.add_token(TOKEN, search_limit=10_000, code_search_limit=10_000)


def topics(registry: Registry) -> Topics:
    return Topics(registry.app.github, Cadence(), (TOPIC,), registry.app.clock.now)


def pushed(registry: Registry, number: int, *, apart: timedelta) -> None:
    """Create repositories of the topic, pushed one after another."""
    newest = datetime.now(UTC) - timedelta(days=1)
    for each in range(number):
        stamp = (newest - each * apart).strftime("%Y-%m-%dT%H:%M:%SZ")
        registry.github.add_repository(f"acme/r{each}", topics=(TOPIC,), pushed_at=stamp)


def of_one_size(registry: Registry, number: int) -> None:
    """Create files of one size."""
    for each in range(0, number, 100):
        files = {f"s{skill}/SKILL.md": "y" * 700 for skill in range(min(100, number - each))}
        registry.github.add_repository(f"acme/r{each}", files)


async def read(source: DiscoverySource) -> AsyncIterator[CandidatePage]:
    """Run a cycle that stops after each page and resumes."""
    checkpoint: Any = None
    while True:
        async for page in source.pages(checkpoint, RunCallBudget(10_000)):
            yield page
            checkpoint = page.checkpoint
            break
        if page.is_last:
            return


async def seen(source: DiscoverySource) -> tuple[int, int, int]:
    """Return how many results a cycle shows and how many it reports as missing."""
    found: set[str] = set()
    paths: set[tuple[str, str]] = set()
    cut = 0
    async for page in read(source):
        found |= {str(each.repository) for each in page.candidates}
        paths |= {(str(each.repository), path) for each in page.candidates for path in each.paths}
        cut += page.cut
    return len(found), len(paths), cut


@pytest.mark.parametrize(
    ("number", "apart", "shown", "cut"),
    [
        (1_000, timedelta(0), 1_000, 0),
        (1_001, timedelta(minutes=1), 1_001, 0),
        (1_001, timedelta(0), 1_000, 1),
    ],
    ids=["the cap", "one more", "one more in one second"],
)
async def test_topics_at_the_result_limit(
    registry: Registry, number: int, apart: timedelta, shown: int, cut: int
) -> None:
    """G89: windows are split down to seconds; the rest is reported."""
    pushed(registry, number, apart=apart)
    assert (shown, 0, cut) == await seen(topics(registry))
    if number == 1_000:
        assert registry.github.count("search") == 10


@pytest.mark.parametrize(("number", "cut"), [(1_000, 0), (1_001, 0), (2_000, 0), (2_003, 3)])
async def test_files_of_one_size_at_the_result_limit(registry: Registry, number: int, cut: int) -> None:
    """G89: both ends are read; the rest is reported."""
    of_one_size(registry, number)
    _, paths, said = await seen(CodeSearch(registry.app.github, Cadence()))
    assert (number - cut, cut) == (paths, said)


@dataclass
class Cutting:
    """A source of two pages that reports missing results."""

    cuts: tuple[int, int]
    name: str = "topics"
    cadence: Cadence = field(default_factory=Cadence)

    async def pages(self, checkpoint: Any, budget: RunCallBudget) -> AsyncGenerator[CandidatePage, None]:
        at = (checkpoint or {}).get("at", 0)
        for number, cut in list(enumerate(self.cuts))[at:]:
            budget.spend()
            yield CandidatePage([], {"at": number + 1} if number == 0 else None, number == 1, cut=cut)

    async def probe(self, budget: RunCallBudget) -> bool | None:
        return None


async def test_missing_results_are_reported_in_stats_metrics_and_health(registry: Registry) -> None:
    """G89, G90: without an alarm, until a complete cycle."""
    async with open_crawler(registry.app) as crawler:
        await register(registry.app.store, crawler.sources, [])
    assert RunOutcome.COMPLETE is (await crawl(registry, Cutting((2, 1)))).outcome
    assert (3.0, ["discovery_cut"]) == await told(registry)
    # The next cycle is half done; the unread part keeps its previous value.
    assert RunOutcome.SPENT is (await crawl(registry, Cutting((0, 0)), max_calls=1)).outcome
    assert (3.0, ["discovery_cut"]) == await told(registry)
    assert RunOutcome.COMPLETE is (await crawl(registry, Cutting((0, 0)))).outcome
    assert (0.0, []) == await told(registry)


async def told(registry: Registry) -> tuple[float, list[str]]:
    """Return the metric of the source after comparing it with health and stats."""
    metrics = (await registry.client.get("/metrics")).text
    health = (await registry.client.get("/api/v1/queue/health")).json()
    stats = (await registry.client.get("/api/v1/admin/discovery/stats", headers=KEY)).json()
    [source] = [each["source"] for each in stats["sources"] if each["source"]["name"] == "topics"]
    value = series(metrics, "assay_discovery_cut")['source="topics"']
    assert source["cut"] == value
    assert AlarmCode.DISCOVERY_CUT in INFORMATIVE
    return value, [each["code"] for each in health["alarms"] if each["code"] == "discovery_cut"]
