"""Searches at the edge of what GitHub shows: a thousand results, one more, and more than can be split."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from assay.app.discovery import open_crawler
from assay.discover.schedule import register
from assay.discover.source import Cadence, Meter, Page, Source
from assay.discover.sources.code_search import CodeSearch
from assay.discover.sources.topics import Topics
from assay.model.discovery import RunOutcome
from assay.serve.operations.alarm import INFORMATIVE, Code
from tests.support.discover.crawling import crawl
from tests.support.fake_github import FakeGitHub
from tests.support.registry import SECRET, Registry
from tests.web.operations.test_health import series

TOKEN = "ghp_discovery"
TOPIC = "agent-skills"
KEY = {"X-Internal-Key": SECRET}


@pytest.fixture
def settings(settings: Any) -> Any:
    """With a token, since GitHub searches code for nobody without one."""
    return type(settings).model_validate({**settings.model_dump(), "github_tokens": (TOKEN,)})


@pytest.fixture(autouse=True)
def _token(github: FakeGitHub) -> None:
    github.add_token(TOKEN, search_limit=10_000, code_search_limit=10_000)


def topics(registry: Registry) -> Topics:
    return Topics(registry.app.github, Cadence(), (TOPIC,), registry.app.clock.now)


def pushed(registry: Registry, number: int, *, apart: timedelta) -> None:
    """So many repositories of the topic, last pushed to one after another."""
    newest = datetime.now(UTC) - timedelta(days=1)
    for each in range(number):
        stamp = (newest - each * apart).strftime("%Y-%m-%dT%H:%M:%SZ")
        registry.github.add_repository(f"acme/r{each}", topics=(TOPIC,), pushed_at=stamp)


def of_one_size(registry: Registry, number: int) -> None:
    """So many files of the same size."""
    for each in range(0, number, 100):
        files = {f"s{skill}/SKILL.md": "y" * 700 for skill in range(min(100, number - each))}
        registry.github.add_repository(f"acme/r{each}", files)


async def read(source: Source) -> AsyncIterator[Page]:
    """A cycle that is stopped after each page, and gone on with."""
    checkpoint: Any = None
    while True:
        async for page in source.pages(checkpoint, Meter(10_000)):
            yield page
            checkpoint = page.checkpoint
            break
        if page.is_last:
            return


async def seen(source: Source) -> tuple[int, int, int]:
    """How many repositories and files a cycle shows, and how many it says that nobody is shown."""
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
async def test_topics_at_the_cap(registry: Registry, number: int, apart: timedelta, shown: int, cut: int) -> None:
    """G89: a window that is too full is split, down to seconds; what cannot be split is said, never silent."""
    pushed(registry, number, apart=apart)
    assert (shown, 0, cut) == await seen(topics(registry))
    if number == 1_000:
        assert registry.github.count("search") == 10


@pytest.mark.parametrize(("number", "cut"), [(1_000, 0), (1_001, 0), (2_000, 0), (2_003, 3)])
async def test_files_of_one_size_at_the_cap(registry: Registry, number: int, cut: int) -> None:
    """G89: one size cannot be split; both ends of it are read, and what is between them is said."""
    of_one_size(registry, number)
    _, paths, said = await seen(CodeSearch(registry.app.github, Cadence()))
    assert (number - cut, cut) == (paths, said)


@dataclass
class Cutting:
    """A source of two pages that says how much each of them lacks."""

    cuts: tuple[int, int]
    name: str = "topics"
    cadence: Cadence = field(default_factory=Cadence)

    async def pages(self, checkpoint: Any, meter: Meter) -> AsyncGenerator[Page, None]:
        at = (checkpoint or {}).get("at", 0)
        for number, cut in list(enumerate(self.cuts))[at:]:
            meter.spend()
            yield Page([], {"at": number + 1} if number == 0 else None, number == 1, cut=cut)

    async def probe(self, meter: Meter) -> bool | None:
        return None


async def test_what_is_cut_is_told_to_whoever_watches(registry: Registry) -> None:
    """G89, G90: in the stats, the metrics, and health, which is not ill of it; until a whole cycle is shown all."""
    async with open_crawler(registry.app) as crawler:
        await register(registry.app.store, crawler.sources, [])
    assert RunOutcome.COMPLETE is (await crawl(registry, Cutting((2, 1)))).outcome
    assert (3.0, ["discovery_cut"]) == await told(registry)
    # The next cycle is half through: what it has not come to yet is as it was.
    assert RunOutcome.SPENT is (await crawl(registry, Cutting((0, 0)), max_calls=1)).outcome
    assert (3.0, ["discovery_cut"]) == await told(registry)
    assert RunOutcome.COMPLETE is (await crawl(registry, Cutting((0, 0)))).outcome
    assert (0.0, []) == await told(registry)


async def told(registry: Registry) -> tuple[float, list[str]]:
    """The metric of the source, which health and stats agree with, and what health says of discovery's searches."""
    metrics = (await registry.client.get("/metrics")).text
    health = (await registry.client.get("/api/v1/queue/health")).json()
    stats = (await registry.client.get("/api/v1/admin/discovery/stats", headers=KEY)).json()
    [source] = [each["source"] for each in stats["sources"] if each["source"]["name"] == "topics"]
    value = series(metrics, "assay_discovery_cut")['source="topics"']
    assert source["cut"] == value
    assert Code.DISCOVERY_CUT in INFORMATIVE
    return value, [each["code"] for each in health["alarms"] if each["code"] == "discovery_cut"]
