"""GitHub's public events, within its poll interval."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from assay.discover.source import Cadence, RunCallBudget
from assay.discover.sources.events import Events
from assay.model.discovery import RunOutcome
from assay.model.errors import RateLimited
from tests.support.discover.crawling import add_repositories, crawl, list_submissions
from tests.support.registry import Registry
from tests.support.skills import a_skill

CADENCE = Cadence(every_seconds=60)


class Hours:
    """A clock moved by tests."""

    def __init__(self) -> None:
        self.moment = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.moment

    def pass_by(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Hours:
    return Hours()


async def read(source: Events, checkpoint: Any) -> Any:
    """Run a cycle from a checkpoint and return the next one."""
    async for page in source.pages(checkpoint, RunCallBudget(99)):
        checkpoint = page.checkpoint
    return checkpoint


async def test_events_yield_known_and_promising_repositories(registry: Registry, clock: Hours) -> None:
    """G86."""
    [known] = add_repositories(registry, 1)
    source = Events(registry.app.github, CADENCE, (), clock)
    registry.github.add_event("somebody/website")
    registry.github.add_event("somebody/my-skills", "CreateEvent")
    registry.github.add_repository("somebody/my-skills", files={"SKILL.md": a_skill("mine")})
    registry.github.add_event(known, "WatchEvent")
    first = await crawl(registry, source)
    assert [("somebody/my-skills", "SKILL.md")] == await list_submissions(registry)
    assert 2 == first.counters.found
    clock.pass_by(60)
    registry.github.add_event("somebody/website")
    assert (1, 0) == ((again := (await crawl(registry, source)).counters).found, again.new)


@pytest.mark.parametrize("happens", [True, False])
async def test_poll_interval_is_respected(registry: Registry, clock: Hours, happens: bool) -> None:
    """G34: per list and across processes."""
    registry.github.poll_seconds = 300
    registry.github.organisations = {"acme"}
    registry.github.add_event("acme/skills")
    owners = ("acme",)
    checkpoint = await read(Events(registry.app.github, CADENCE, owners, clock), None)
    asked = registry.github.count("events")
    assert asked == 2
    for _ in range(3):
        clock.pass_by(75)
        with pytest.raises(RateLimited) as raised:
            await read(Events(registry.app.github, CADENCE, owners, clock), checkpoint)
    assert raised.value.retry_after_seconds == pytest.approx(75)
    assert registry.github.count("events") == asked
    clock.pass_by(75)
    if happens:
        registry.github.add_event("acme/other-skills")
    checkpoint = await read(Events(registry.app.github, CADENCE, owners, clock), checkpoint)
    assert registry.github.count("events") == 2 * asked
    clock.pass_by(299)
    with pytest.raises(RateLimited):
        await read(Events(registry.app.github, CADENCE, owners, clock), checkpoint)
    assert registry.github.count("events") == 2 * asked


async def test_clock_moved_back_does_not_block(registry: Registry, clock: Hours) -> None:
    source = Events(registry.app.github, CADENCE, (), clock)
    checkpoint = await read(source, None)
    clock.pass_by(-86_400)
    await read(source, checkpoint)
    assert registry.github.count("events") == 2


async def test_early_run_is_rejected_without_a_request(registry: Registry, clock: Hours) -> None:
    """G34: the probe makes no request either."""
    registry.github.add_event("acme/skills")
    source = Events(registry.app.github, CADENCE, (), clock)
    assert RunOutcome.COMPLETE is (await crawl(registry, source)).outcome
    assert registry.github.count("events") == 1
    assert await source.probe(RunCallBudget(9))
    early = await crawl(registry, source, timeout_seconds=10)
    assert RunOutcome.RATE_LIMITED is early.outcome
    assert "60 s" in (early.problem or "")
    assert registry.github.count("events") == 1


async def test_failed_list_is_retried_alone(registry: Registry, clock: Hours) -> None:
    registry.github.organisations = {"acme"}
    registry.github.add_event("acme/skills")
    source = Events(registry.app.github, CADENCE, ("acme",), clock)
    pages = source.pages(None, RunCallBudget(99))
    checkpoint = (await anext(pages)).checkpoint
    await pages.aclose()
    [rest] = [page async for page in source.pages(checkpoint, RunCallBudget(99))]
    assert rest.is_last
    assert ["/api/events", "/api/orgs/acme/events"] == [
        each.path for each in registry.github.calls if each.route == "events"
    ]


async def test_events_of_people_and_missing_owners(registry: Registry, clock: Hours) -> None:
    """G87: a missing owner does not hide the others."""
    github = registry.github
    github.organisations = {"acme"}
    for name in ("person/tools", "acme/tools"):
        github.add_repository(name, files={"SKILL.md": a_skill("tools")})
        github.add_event(name)
    source = Events(registry.app.github, CADENCE, ("gone", "person", "acme"), clock)
    ended = await crawl(registry, source)
    assert (RunOutcome.COMPLETE, 1) == (ended.outcome, ended.counters.errors)
    assert [("acme/tools", "SKILL.md"), ("person/tools", "SKILL.md")] == await list_submissions(registry)
    asked = [each.path for each in github.calls if each.route == "events"]
    clock.pass_by(60)
    await crawl(registry, source)
    again = [each.path for each in github.calls if each.route == "events"][len(asked) :]
    # Known people are not requested as organisations again.
    assert set(asked) - set(again) == {"/api/orgs/person/events"}


async def test_empty_public_events_are_an_error(registry: Registry, clock: Hours) -> None:
    """G90: there is always an event on GitHub."""
    source = Events(registry.app.github, CADENCE, (), clock)
    assert await source.probe(RunCallBudget(9)) is None
    await read(source, None)
    assert await source.probe(RunCallBudget(9)) is False
