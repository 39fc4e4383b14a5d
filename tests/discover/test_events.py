"""GitHub's public events: what they lead to, and that nobody asks for them earlier than GitHub wants."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from assay.discover.source import Cadence, Meter
from assay.discover.sources.events import Events
from assay.model.discovery import RunOutcome
from assay.model.errors import RateLimited
from tests.support.discover.crawling import crawl, many, submitted
from tests.support.registry import Registry
from tests.support.skills import a_skill

CADENCE = Cadence(every_seconds=60)


class Hours:
    """A clock that tests move."""

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
    """A cycle from a checkpoint; returns the next one."""
    async for page in source.pages(checkpoint, Meter(99)):
        checkpoint = page.checkpoint
    return checkpoint


async def test_events_lead_to_known_repositories_and_to_those_that_sound_like_skills(
    registry: Registry, clock: Hours
) -> None:
    """G86: a push to a known repository is a reason to look again; GitHub's others are not ours to look into."""
    [known] = many(registry, 1)
    source = Events(registry.app.github, CADENCE, (), clock)
    registry.github.happen("somebody/website")
    registry.github.happen("somebody/my-skills", "CreateEvent")
    registry.github.add_repository("somebody/my-skills", files={"SKILL.md": a_skill("mine")})
    registry.github.happen(known, "WatchEvent")
    first = await crawl(registry, source)
    assert [("somebody/my-skills", "SKILL.md")] == await submitted(registry)
    assert 2 == first.tally.found
    clock.pass_by(60)
    registry.github.happen("somebody/website")
    assert (1, 0) == ((again := (await crawl(registry, source)).tally).found, again.new)


@pytest.mark.parametrize("happens", [True, False])
async def test_no_list_is_asked_for_earlier_than_github_wants(registry: Registry, clock: Hours, happens: bool) -> None:
    """G34: `X-Poll-Interval` holds for each list, also where nothing is new, in whatever process asks next."""
    registry.github.poll_seconds = 300
    registry.github.organisations = {"acme"}
    registry.github.happen("acme/skills")
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
        registry.github.happen("acme/other-skills")
    checkpoint = await read(Events(registry.app.github, CADENCE, owners, clock), checkpoint)
    assert registry.github.count("events") == 2 * asked
    clock.pass_by(299)
    with pytest.raises(RateLimited):
        await read(Events(registry.app.github, CADENCE, owners, clock), checkpoint)
    assert registry.github.count("events") == 2 * asked


async def test_a_clock_that_was_turned_back_stops_nobody(registry: Registry, clock: Hours) -> None:
    """What was noted in a future that never came is not waited for."""
    source = Events(registry.app.github, CADENCE, (), clock)
    checkpoint = await read(source, None)
    clock.pass_by(-86_400)
    await read(source, checkpoint)
    assert registry.github.count("events") == 2


async def test_a_run_that_is_asked_for_too_early_says_so_and_asks_nobody(registry: Registry, clock: Hours) -> None:
    """G34: at once, however short the wait; the source runs again when it is over. The probe asks nobody either."""
    registry.github.happen("acme/skills")
    source = Events(registry.app.github, CADENCE, (), clock)
    assert RunOutcome.COMPLETE is (await crawl(registry, source)).outcome
    assert registry.github.count("events") == 1
    assert await source.probe(Meter(9))
    early = await crawl(registry, source, timeout_seconds=10)
    assert RunOutcome.RATE_LIMITED is early.outcome
    assert "60 s" in (early.problem or "")
    assert registry.github.count("events") == 1


async def test_a_list_that_could_not_be_read_is_asked_for_again_and_the_others_are_not(
    registry: Registry, clock: Hours
) -> None:
    """An error in one list does not have the lists before it asked for twice."""
    registry.github.organisations = {"acme"}
    registry.github.happen("acme/skills")
    source = Events(registry.app.github, CADENCE, ("acme",), clock)
    pages = source.pages(None, Meter(99))
    checkpoint = (await anext(pages)).checkpoint
    await pages.aclose()
    [rest] = [page async for page in source.pages(checkpoint, Meter(99))]
    assert rest.is_last
    assert ["/api/events", "/api/orgs/acme/events"] == [
        each.path for each in registry.github.calls if each.route == "events"
    ]


async def test_people_have_events_too_and_who_is_gone_hides_nobody(registry: Registry, clock: Hours) -> None:
    """G87: a person is no organisation to GitHub; whoever stands first in the list, the last one is seen."""
    github = registry.github
    github.organisations = {"acme"}
    for name in ("person/tools", "acme/tools"):
        github.add_repository(name, files={"SKILL.md": a_skill("tools")})
        github.happen(name)
    source = Events(registry.app.github, CADENCE, ("gone", "person", "acme"), clock)
    ended = await crawl(registry, source)
    assert (RunOutcome.COMPLETE, 1) == (ended.outcome, ended.tally.errors)
    assert [("acme/tools", "SKILL.md"), ("person/tools", "SKILL.md")] == await submitted(registry)
    asked = [each.path for each in github.calls if each.route == "events"]
    clock.pass_by(60)
    await crawl(registry, source)
    again = [each.path for each in github.calls if each.route == "events"][len(asked) :]
    # Who has turned out to be a person is not asked for as an organisation again.
    assert set(asked) - set(again) == {"/api/orgs/person/events"}


async def test_where_nothing_ever_happens_the_source_is_blind(registry: Registry, clock: Hours) -> None:
    """G90: there is always an event on GitHub; an empty list is no answer."""
    source = Events(registry.app.github, CADENCE, (), clock)
    assert await source.probe(Meter(9)) is None
    await read(source, None)
    assert await source.probe(Meter(9)) is False
