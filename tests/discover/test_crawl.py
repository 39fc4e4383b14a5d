"""A discovery run: exactly once, within limits, resumable."""

import asyncio

import pytest
import structlog
from sqlalchemy import text

from assay.discover.crawl import RunRequest
from assay.discover.dry_run import dry_run_source
from assay.discover.source import Cadence
from assay.model.discovery import DISCOVERY_BATCH_SIZE, MAX_RESULTS_PER_RUN, RunOutcome
from assay.model.errors import RateLimited, Unavailable
from assay.settings import Settings
from tests.support.discover.crawling import (
    FailingSource,
    ScriptedSource,
    a_crawler,
    add_repositories,
    count,
    crawl,
    expected_submissions,
    list_records,
    list_submissions,
)
from tests.support.registry import Registry


async def test_candidates_are_submitted_once_with_counters(registry: Registry) -> None:
    """G85: a second run finds nothing new."""
    names = add_repositories(registry, 25)
    first = await crawl(registry, ScriptedSource([names[:15], names[10:], ["acme/nothing"]]))
    assert expected_submissions(names) == await list_submissions(registry)
    counters = first.counters
    assert (31, 26, 5) == (counters.found, counters.new, counters.skipped_dedup)
    assert (26, 50, 0, 1) == (counters.looked, counters.enqueued, counters.existing, counters.errors)
    assert dict.fromkeys(names, 2) == counters.repo_stats
    second = await crawl(registry, ScriptedSource([names]))
    assert (25, 0, 25, 0) == (
        second.counters.found,
        second.counters.new,
        second.counters.skipped_dedup,
        second.counters.enqueued,
    )
    assert expected_submissions(names) == await list_submissions(registry)
    assert await count(registry, "discovery_run") == 2


async def test_repository_costs_three_calls(registry: Registry) -> None:
    """G35: with 60 skills."""
    [name] = add_repositories(registry, 1, *(f"skill-{number}" for number in range(60)))
    await crawl(registry, ScriptedSource([[name]]))
    assert len(await list_submissions(registry)) == 60
    assert registry.github.count_api() == 3


async def test_batch_size_and_maximum(settings: Settings) -> None:
    """G85: twenty at once, five thousand per run."""
    assert (20, 5_000) == (DISCOVERY_BATCH_SIZE, MAX_RESULTS_PER_RUN)
    assert settings.discovery_max_results == 5_000


async def test_repositories_are_inspected_concurrently_in_batches(registry: Registry) -> None:
    """G85."""
    names = add_repositories(registry, 45)
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
    await crawl(registry, ScriptedSource([names]))
    assert 1 < most <= DISCOVERY_BATCH_SIZE
    assert len(await list_submissions(registry)) == 90


async def test_maximum_applies_to_new_repositories(registry: Registry) -> None:
    """G85: the rest is taken by the next run."""
    names = add_repositories(registry, 12)
    await crawl(registry, ScriptedSource([names[:6]]))
    source = ScriptedSource([names, []])
    capped = await crawl(registry, source, max_results=4)
    assert (RunOutcome.CAPPED, 4, 8) == (capped.outcome, capped.counters.new, capped.counters.enqueued)
    assert expected_submissions(names[:10]) == await list_submissions(registry)
    rest = await crawl(registry, source, max_results=4)
    assert (RunOutcome.COMPLETE, 2) == (rest.outcome, rest.counters.new)
    assert expected_submissions(names) == await list_submissions(registry)
    assert [0, 0, 1] == source.pages_read


async def test_dry_run_writes_nothing(registry: Registry) -> None:
    """G85."""
    names = add_repositories(registry, 6)
    await crawl(registry, ScriptedSource([names[:2]]))
    before = [await count(registry, table) for table in ("discovery_record", "discovery_run", "submission")]
    async with a_crawler(registry) as crawler:
        dry = await dry_run_source(crawler, ScriptedSource([names, names]), RunRequest("test", max_results=3))
        whole = await dry_run_source(crawler, ScriptedSource([names, names]), RunRequest("test"))
    assert (RunOutcome.CAPPED, 3, names[2:5]) == (dry.outcome, dry.counters.new, dry.new)
    assert (RunOutcome.COMPLETE, 4, 8) == (whole.outcome, whole.counters.new, whole.counters.skipped_dedup)
    assert before == [await count(registry, table) for table in ("discovery_record", "discovery_run", "submission")]


async def test_parallel_sources_never_submit_twice(registry: Registry) -> None:
    """G86: eight sources with the same forty repositories."""
    names = add_repositories(registry, 40)
    sources = [ScriptedSource([names[shift:] + names[:shift]], name=f"source-{shift}") for shift in range(8)]
    runs = await asyncio.gather(*(crawl(registry, each) for each in sources))
    assert expected_submissions(names) == await list_submissions(registry)
    assert 40 == sum(run.counters.new for run in runs) == sum(run.counters.looked for run in runs)
    assert 80 == sum(run.counters.enqueued for run in runs)
    assert registry.github.count("tree") == 40


async def test_failing_repository_does_not_end_the_run(registry: Registry) -> None:
    """G87: it is counted and retried."""
    names = add_repositories(registry, 10)
    registry.github.fail("tree", status=502, times=1)
    ended = await crawl(registry, ScriptedSource([names]))
    assert RunOutcome.COMPLETE == ended.outcome
    assert 1 == ended.counters.errors
    assert expected_submissions(names) == await list_submissions(registry)
    assert {"submitted"} == set((await list_records(registry)).values())


async def test_rate_limit_is_waited_for(registry: Registry) -> None:
    """G34: it is neither an empty repository nor an error."""
    names = add_repositories(registry, 3)
    registry.github.secondary_limit("tree", retry_after=1, times=2)
    ended = await crawl(registry, ScriptedSource([names]))
    assert (RunOutcome.COMPLETE, 0) == (ended.outcome, ended.counters.errors)
    assert expected_submissions(names) == await list_submissions(registry)


async def test_long_rate_limit_ends_the_run_at_its_checkpoint(registry: Registry) -> None:
    """G34, G88."""
    names = add_repositories(registry, 4)
    source = ScriptedSource([names[:2], RateLimited("Wait.", retry_after_seconds=1_800), names[2:]])
    ended = await crawl(registry, source)
    assert RunOutcome.RATE_LIMITED == ended.outcome
    async with registry.app.store.begin() as db:
        row = await db.execute(
            text("SELECT next_run_at - now() > interval '29 minutes', failures FROM discovery_source")
        )
        assert (True, 0) == row.one()
    await crawl(registry, source)
    assert [0, 1, 1, 2] == source.pages_read
    assert expected_submissions(names) == await list_submissions(registry)


async def test_failed_page_is_requested_again(registry: Registry) -> None:
    """G88."""
    names = add_repositories(registry, 4)
    source = ScriptedSource([names[:2], Unavailable("Away."), names[2:]])
    ended = await crawl(registry, source)
    assert (RunOutcome.COMPLETE, 1) == (ended.outcome, ended.counters.errors)
    assert [0, 1, 1, 2] == source.pages_read
    assert expected_submissions(names) == await list_submissions(registry)


async def test_error_in_a_source_is_a_failed_run(registry: Registry) -> None:
    """G87: logged with its traceback; the lease is released."""
    with structlog.testing.capture_logs() as logs:
        ended = await crawl(registry, FailingSource(KeyError("items")))
    assert (RunOutcome.FAILED, "KeyError: 'items'") == (ended.outcome, ended.problem)
    assert ["Discovery run failed"] == [each["event"] for each in logs if each.get("exc_info")]
    assert RunOutcome.COMPLETE is (await crawl(registry, ScriptedSource([[]]))).outcome


async def test_failing_source_backs_off(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """G87."""
    monkeypatch.setattr("assay.discover.crawl.FIRST_PAUSE_SECONDS", 0.01)
    broken = Unavailable("No such host.")
    pauses = []
    for _ in range(3):
        ended = await crawl(registry, FailingSource(broken))
        assert (RunOutcome.FAILED, "No such host.") == (ended.outcome, ended.problem)
        async with registry.app.store.begin() as db:
            row = await db.execute(
                text("SELECT extract(epoch FROM next_run_at - now()), failures FROM discovery_source")
            )
            seconds, failures = row.one()
        pauses.append((round(float(seconds)), failures))
    assert [(60, 1), (120, 2), (240, 3)] == pauses


async def test_run_stays_within_its_call_budget(registry: Registry) -> None:
    """G33: the rest waits for the next run."""
    names = add_repositories(registry, 9)
    ended = await crawl(registry, ScriptedSource([names]), max_calls=10)
    assert (RunOutcome.SPENT, 10) == (ended.outcome, ended.calls)
    assert registry.github.count_api() == 9
    await crawl(registry, ScriptedSource([names]))
    assert expected_submissions(names) == await list_submissions(registry)


async def test_timed_out_run_resumes(registry: Registry) -> None:
    """G88."""
    names = add_repositories(registry, 4)
    registry.github.latency("tree", 5)
    ended = await crawl(registry, ScriptedSource([names]), timeout_seconds=0.5)
    assert RunOutcome.TIMEOUT == ended.outcome
    registry.github.heal()
    await crawl(registry, ScriptedSource([[]]))
    assert expected_submissions(names) == await list_submissions(registry)


async def test_concurrent_runs_of_a_source_are_one(registry: Registry) -> None:
    """G87."""
    names = add_repositories(registry, 5)
    async with a_crawler(registry) as crawler:
        asked = RunRequest("test", is_manual=True)
        runs = await asyncio.gather(*(crawler.run(ScriptedSource([names]), asked) for _ in range(4)))
    assert 1 == sum(run is not None for run in runs)
    assert expected_submissions(names) == await list_submissions(registry)


async def test_source_runs_when_due(registry: Registry) -> None:
    """G87: or on request."""
    async with a_crawler(registry) as crawler:
        source = ScriptedSource([[]], cadence=Cadence(every_seconds=3_600))
        assert await crawler.run(source, RunRequest("test")) is not None
        assert await crawler.run(source, RunRequest("test")) is None
        assert await crawler.run(source, RunRequest("test", is_manual=True)) is not None


@pytest.mark.parametrize("path", [".claude/skills/mine/SKILL.md", "plugins/.cursor/SKILL.md"])
async def test_inadmissible_candidates_are_not_submitted(registry: Registry, path: str) -> None:
    """G18."""
    registry.github.add_repository("acme/config", files={path: "---\nname: x\n---\n"})
    ended = await crawl(registry, ScriptedSource([["acme/config"]]))
    assert (0, []) == (ended.counters.enqueued, await list_submissions(registry))
    assert {"acme/config": "empty"} == await list_records(registry)


async def test_default_branch_of_any_name(registry: Registry) -> None:
    """G38."""
    files = {"skills/one/SKILL.md": "---\nname: one\ndescription: One.\n---\n"}
    registry.github.add_repository("acme/trunk", files=files, default_branch="trunk")
    await crawl(registry, ScriptedSource([["acme/trunk"]]))
    assert expected_submissions(["acme/trunk"], "one") == await list_submissions(registry)


async def test_renamed_repository_is_submitted_once(registry: Registry) -> None:
    """G54."""
    [name] = add_repositories(registry, 1)
    repository, _ = registry.github.directory.find(name)
    assert repository is not None
    await crawl(registry, ScriptedSource([[name]]))
    repository.rename("other/name")
    await crawl(registry, ScriptedSource([["other/name"]]))
    assert 2 == await count(registry, "submission")


async def test_next_run_finishes_candidates_of_a_dead_run(registry: Registry) -> None:
    """G88."""
    names = add_repositories(registry, 3)
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
    source = ScriptedSource([["acme/never"], []])
    await crawl(registry, source)
    assert [1] == source.pages_read
    assert expected_submissions(names) == await list_submissions(registry)
