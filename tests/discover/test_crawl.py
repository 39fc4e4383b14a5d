"""A run of a source: exactly once, within its limits, and gone on with where it stopped."""

import asyncio

import pytest
import structlog
from sqlalchemy import text

from assay.discover.crawl import Asked
from assay.discover.dry_run import try_out
from assay.discover.source import Cadence
from assay.model.discovery import DISCOVERY_BATCH_SIZE, MOST_RESULTS, RunOutcome
from assay.model.errors import RateLimited, Unavailable
from assay.settings import Settings
from tests.support.discover.crawling import (
    Always,
    Scripted,
    a_crawler,
    count,
    crawl,
    expected,
    many,
    records,
    submitted,
)
from tests.support.registry import Registry


async def test_everything_found_is_submitted_once_with_its_counters(registry: Registry) -> None:
    """G85: enqueued, skippedDedup, errors and repoStats are returned and kept; a second run finds nothing new."""
    names = many(registry, 25)
    first = await crawl(registry, Scripted([names[:15], names[10:], ["acme/nothing"]]))
    assert expected(names) == await submitted(registry)
    tally = first.tally
    assert (31, 26, 5) == (tally.found, tally.new, tally.skipped_dedup)
    assert (26, 50, 0, 1) == (tally.looked, tally.enqueued, tally.existing, tally.errors)
    assert dict.fromkeys(names, 2) == tally.repo_stats
    second = await crawl(registry, Scripted([names]))
    assert (25, 0, 25, 0) == (second.tally.found, second.tally.new, second.tally.skipped_dedup, second.tally.enqueued)
    assert expected(names) == await submitted(registry)
    assert await count(registry, "discovery_run") == 2


async def test_a_repository_costs_three_calls_however_many_skills_it_has(registry: Registry) -> None:
    """G35: a repository with 60 skills is one look, not one call a skill."""
    [name] = many(registry, 1, *(f"skill-{number}" for number in range(60)))
    await crawl(registry, Scripted([[name]]))
    assert len(await submitted(registry)) == 60
    assert registry.github.count_api() == 3


async def test_the_constants_are_those_of_the_seeds(settings: Settings) -> None:
    """G85: twenty at once, five thousand at the most."""
    assert (20, 5_000) == (DISCOVERY_BATCH_SIZE, MOST_RESULTS)
    assert settings.discovery_max_results == 5_000


async def test_looks_are_made_side_by_side_in_chunks(registry: Registry) -> None:
    """G85: more than one look is under way at a time, and never more than a chunk of twenty."""
    names = many(registry, 45)
    finder, at_once, most = registry.app.finder, 0, 0
    find = finder.find

    async def counted(name):
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        try:
            return await find(name)
        finally:
            at_once -= 1

    finder.find = counted  # type: ignore[method-assign]
    await crawl(registry, Scripted([names]))
    assert 1 < most <= DISCOVERY_BATCH_SIZE
    assert len(await submitted(registry)) == 90


async def test_the_cap_is_on_what_is_new_and_the_rest_is_found_next_time(registry: Registry) -> None:
    """G85: the slice comes after the dedup in the database; what did not fit is not lost."""
    names = many(registry, 12)
    await crawl(registry, Scripted([names[:6]]))
    source = Scripted([names, []])
    capped = await crawl(registry, source, max_results=4)
    assert (RunOutcome.CAPPED, 4, 8) == (capped.outcome, capped.tally.new, capped.tally.enqueued)
    assert expected(names[:10]) == await submitted(registry)
    rest = await crawl(registry, source, max_results=4)
    assert (RunOutcome.COMPLETE, 2) == (rest.outcome, rest.tally.new)
    assert expected(names) == await submitted(registry)
    assert [0, 0, 1] == source.asked_from


async def test_a_dry_run_writes_nothing(registry: Registry) -> None:
    """G85: what would be taken is told, up to the cap; no row, no lease, no submission."""
    names = many(registry, 6)
    await crawl(registry, Scripted([names[:2]]))
    before = [await count(registry, table) for table in ("discovery_record", "discovery_run", "submission")]
    async with a_crawler(registry) as crawler:
        dry = await try_out(crawler, Scripted([names, names]), Asked("test", max_results=3))
        whole = await try_out(crawler, Scripted([names, names]), Asked("test"))
    assert (RunOutcome.CAPPED, 3, names[2:5]) == (dry.outcome, dry.tally.new, dry.new)
    assert (RunOutcome.COMPLETE, 4, 8) == (whole.outcome, whole.tally.new, whole.tally.skipped_dedup)
    assert before == [await count(registry, table) for table in ("discovery_record", "discovery_run", "submission")]


async def test_parallel_sources_never_submit_twice(registry: Registry) -> None:
    """G86: eight sources find the same forty repositories at once; each is looked into by one of them."""
    names = many(registry, 40)
    sources = [Scripted([names[shift:] + names[:shift]], name=f"source-{shift}") for shift in range(8)]
    runs = await asyncio.gather(*(crawl(registry, each) for each in sources))
    assert expected(names) == await submitted(registry)
    assert 40 == sum(run.tally.new for run in runs) == sum(run.tally.looked for run in runs)
    assert 80 == sum(run.tally.enqueued for run in runs)
    assert registry.github.count("tree") == 40


async def test_one_failure_never_ends_a_run(registry: Registry) -> None:
    """G87: a repository that fails is counted and looked into again; all others are submitted."""
    names = many(registry, 10)
    registry.github.fail("tree", status=502, times=1)
    ended = await crawl(registry, Scripted([names]))
    assert RunOutcome.COMPLETE == ended.outcome
    assert 1 == ended.tally.errors
    assert expected(names) == await submitted(registry)
    assert {"submitted"} == set((await records(registry)).values())


async def test_a_rate_limit_is_waited_for_and_is_never_an_empty_repository(registry: Registry) -> None:
    """G34: what GitHub does not say now is asked again; no error is counted for having to wait."""
    names = many(registry, 3)
    registry.github.secondary_limit("tree", retry_after=1, times=2)
    ended = await crawl(registry, Scripted([names]))
    assert (RunOutcome.COMPLETE, 0) == (ended.outcome, ended.tally.errors)
    assert expected(names) == await submitted(registry)


async def test_a_long_rate_limit_ends_the_run_and_the_checkpoint_stays(registry: Registry) -> None:
    """G34, G88: the next run goes on at the page that could not be read."""
    names = many(registry, 4)
    source = Scripted([names[:2], RateLimited("Wait.", retry_after_seconds=1_800), names[2:]])
    ended = await crawl(registry, source)
    assert RunOutcome.RATE_LIMITED == ended.outcome
    async with registry.app.store.begin() as db:
        row = await db.execute(
            text("SELECT next_run_at - now() > interval '29 minutes', failures FROM discovery_source")
        )
        assert (True, 0) == row.one()
    await crawl(registry, source)
    assert [0, 1, 1, 2] == source.asked_from
    assert expected(names) == await submitted(registry)


async def test_a_page_that_fails_is_asked_for_again(registry: Registry) -> None:
    """G88: a network error costs a page neither its results nor its place."""
    names = many(registry, 4)
    source = Scripted([names[:2], Unavailable("Away."), names[2:]])
    ended = await crawl(registry, source)
    assert (RunOutcome.COMPLETE, 1) == (ended.outcome, ended.tally.errors)
    assert [0, 1, 1, 2] == source.asked_from
    assert expected(names) == await submitted(registry)


async def test_a_bug_in_a_source_is_a_failed_run_with_its_reason(registry: Registry) -> None:
    """G87: it is told with its trace, ends nothing else, and the source is given back."""
    with structlog.testing.capture_logs() as logs:
        ended = await crawl(registry, Always(KeyError("items")))
    assert (RunOutcome.FAILED, "KeyError: 'items'") == (ended.outcome, ended.problem)
    assert ["A run of discovery failed"] == [each["event"] for each in logs if each.get("exc_info")]
    assert RunOutcome.COMPLETE is (await crawl(registry, Scripted([[]]))).outcome


async def test_a_source_that_fails_waits_longer_each_time(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """G87: a failure is written down with its reason, and the next run is later and later."""
    monkeypatch.setattr("assay.discover.crawl.FIRST_PAUSE_SECONDS", 0.01)
    broken = Unavailable("No such host.")
    pauses = []
    for _ in range(3):
        ended = await crawl(registry, Always(broken))
        assert (RunOutcome.FAILED, "No such host.") == (ended.outcome, ended.problem)
        async with registry.app.store.begin() as db:
            row = await db.execute(
                text("SELECT extract(epoch FROM next_run_at - now()), failures FROM discovery_source")
            )
            seconds, failures = row.one()
        pauses.append((round(float(seconds)), failures))
    assert [(60, 1), (120, 2), (240, 3)] == pauses


async def test_a_run_makes_no_more_calls_than_its_share(registry: Registry) -> None:
    """G33: what is over the share waits for the next run, and is not lost."""
    names = many(registry, 9)
    ended = await crawl(registry, Scripted([names]), max_calls=10)
    assert (RunOutcome.SPENT, 10) == (ended.outcome, ended.calls)
    assert registry.github.count_api() == 9
    await crawl(registry, Scripted([names]))
    assert expected(names) == await submitted(registry)


async def test_a_run_that_takes_too_long_is_ended_and_gone_on_with(registry: Registry) -> None:
    """G88: a timeout costs nothing that was found."""
    names = many(registry, 4)
    registry.github.latency("tree", 5)
    ended = await crawl(registry, Scripted([names]), timeout_seconds=0.5)
    assert RunOutcome.TIMEOUT == ended.outcome
    registry.github.heal()
    await crawl(registry, Scripted([[]]))
    assert expected(names) == await submitted(registry)


async def test_two_runners_of_one_source_are_one(registry: Registry) -> None:
    """G87: the lease is in the database; who comes second does not run."""
    names = many(registry, 5)
    async with a_crawler(registry) as crawler:
        asked = Asked("test", is_asked_for=True)
        runs = await asyncio.gather(*(crawler.run(Scripted([names]), asked) for _ in range(4)))
    assert 1 == sum(run is not None for run in runs)
    assert expected(names) == await submitted(registry)


async def test_a_source_runs_when_it_is_due(registry: Registry) -> None:
    """G87: not before its time, unless it is asked for."""
    async with a_crawler(registry) as crawler:
        source = Scripted([[]], cadence=Cadence(every_seconds=3_600))
        assert await crawler.run(source, Asked("test")) is not None
        assert await crawler.run(source, Asked("test")) is None
        assert await crawler.run(source, Asked("test", is_asked_for=True)) is not None


@pytest.mark.parametrize("path", [".claude/skills/mine/SKILL.md", "plugins/.cursor/SKILL.md"])
async def test_what_the_admission_refuses_is_not_submitted(registry: Registry, path: str) -> None:
    """G18: one admission for every way in; an agent's own configuration is no skill of the community."""
    registry.github.add_repository("acme/config", files={path: "---\nname: x\n---\n"})
    ended = await crawl(registry, Scripted([["acme/config"]]))
    assert (0, []) == (ended.tally.enqueued, await submitted(registry))
    assert {"acme/config": "empty"} == await records(registry)


async def test_a_branch_of_any_name_is_the_default(registry: Registry) -> None:
    """G38: GitHub is asked which branch it is."""
    files = {"skills/one/SKILL.md": "---\nname: one\ndescription: One.\n---\n"}
    registry.github.add_repository("acme/trunk", files=files, default_branch="trunk")
    await crawl(registry, Scripted([["acme/trunk"]]))
    assert expected(["acme/trunk"], "one") == await submitted(registry)


async def test_a_renamed_repository_is_one(registry: Registry) -> None:
    """G54: found under its old name and its new one, its skills are submitted once."""
    [name] = many(registry, 1)
    repository, _ = registry.github.directory.find(name)
    assert repository is not None
    await crawl(registry, Scripted([[name]]))
    repository.rename("other/name")
    await crawl(registry, Scripted([["other/name"]]))
    assert 2 == await count(registry, "submission")


async def test_what_a_dead_run_left_is_finished_by_the_next(registry: Registry) -> None:
    """G88: it was found and written down, and nobody came to submit it."""
    names = many(registry, 3)
    async with registry.app.store.begin() as db:
        await db.execute(
            text(
                "INSERT INTO discovery_source (name, every_seconds, floor_seconds, run_id, lease_until, checkpoint)"
                " VALUES ('scripted', 60, 60, '00000000-0000-0000-0000-000000000001', now() - interval '1 second',"
                " '{\"at\": 1}')"
            )
        )
        for name in names:
            await db.execute(
                text(
                    "INSERT INTO discovery_record (host, owner, name, full_name, source, held_by, due_at)"
                    " VALUES ('github', 'acme', split_part(:name, '/', 2), :name, 'scripted',"
                    " '00000000-0000-0000-0000-000000000001', now() + interval '9 minutes')"
                ),
                {"name": name},
            )
    source = Scripted([["acme/never"], []])
    await crawl(registry, source)
    assert [1] == source.asked_from
    assert expected(names) == await submitted(registry)
