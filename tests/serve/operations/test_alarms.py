"""From facts to alarms: each condition alone, at its edge, and none without its cause."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from assay.model.submission import ACTIVE, State
from assay.queue.rescue import RESCUE_ORPHANS
from assay.serve.operations.alarm import MEANS, WHAT_TO_DO, Alarm, Code
from assay.serve.operations.alarms import RECONCILE, WATCH, raise_alarms
from assay.serve.operations.facts import Flow, QueueFacts, WatchLimits
from assay.store.moderation.security_reports import Unanswered
from assay.store.operations.periodic_jobs import ChoreRecord, Rhythm
from assay.store.operations.processes import SeenProcess
from assay.store.queue.backlog import Standing
from assay.store.queue.orphans import Orphan
from assay.store.queue.pauses import Pause
from assay.store.queue.stuck import StuckCount
from assay.store.repositories.upstream import Freshness
from tests.support.backlog import NOW

LIMITS = WatchLimits(stuck=dict.fromkeys(ACTIVE, timedelta(seconds=300)))
NOTHING = dict.fromkeys(State, 0)
SECOND = timedelta(seconds=1)


def a_chore(name: str = WATCH, succeeded: timedelta | None = SECOND, **others: object) -> ChoreRecord:
    """A chore of every minute that last worked so long ago."""
    record = ChoreRecord(Rhythm(name, 60, 30), NOW - timedelta(days=9), None, 1, 0, None, None, 0)
    at = NOW - succeeded if succeeded is not None else None
    return replace(record, **{"succeeded_at": at, **others})


def a_worker(seen: timedelta = SECOND) -> SeenProcess:
    """A worker that was last seen so long ago."""
    return SeenProcess(uuid4(), "worker", "1", 0, NOW - timedelta(days=1), NOW - seen)


def flow(**arrivals: dict[State, int]) -> Flow:
    """What has come into each state lately."""
    return Flow(**{window: NOTHING | arrivals.get(window, {}) for window in ("last_1h", "last_6h", "stall")})


# A queue that works: something waits, something is being scanned, and results come out.
HEALTHY = QueueFacts(
    now=NOW,
    by_state=NOTHING | {State.RECEIVED: 5, State.TIER1_SCANNING: 1},
    oldest={State.TIER1_SCANNING: Standing(uuid4(), State.TIER1_SCANNING, NOW - SECOND, NOW - SECOND)},
    oldest_waiting=Standing(uuid4(), State.RECEIVED, NOW - SECOND, NOW - 60 * SECOND),
    due_since=NOW - 60 * SECOND,
    stuck=StuckCount(dict.fromkeys(ACTIVE, 0), 0, 0),
    most_stuck=None,
    orphans=(),
    saw_all_orphans=True,
    unreadable_jobs=(),
    flow=flow(last_1h={State.PUBLISHED: 30, State.FAILED: 9}, stall={State.PUBLISHED: 3}),
    pause=None,
    was_paused=False,
    processes=(a_worker(), a_worker(timedelta(hours=2))),
    chores=(a_chore(), a_chore(RECONCILE), a_chore(RESCUE_ORPHANS)),
    sources=Freshness(3, NOW - timedelta(hours=1), 0),
)


def alarms(**facts: object) -> list[Alarm]:
    """What a healthy queue raises with these facts changed."""
    return raise_alarms(replace(HEALTHY, **facts), LIMITS)


def keys(**facts: object) -> list[str]:
    """The same, by key."""
    return [alarm.key for alarm in alarms(**facts)]


def waiting_for(age: timedelta) -> Standing:
    """A submission that has waited so long."""
    return Standing(uuid4(), State.RECEIVED, NOW - SECOND, NOW - age)


def scanning_for(age: timedelta) -> dict[State, Standing]:
    """A submission that has been scanned for so long."""
    return {State.TIER1_SCANNING: Standing(uuid4(), State.TIER1_SCANNING, NOW - age, NOW - age)}


def test_a_healthy_queue_raises_nothing() -> None:
    """No alarm without a cause."""
    assert alarms() == []


def test_nobody_is_missed_while_nothing_waits() -> None:
    """G93: no worker is a problem only if there is work."""
    assert keys(processes=()) == ["no_worker"]
    assert keys(processes=(), by_state=NOTHING, oldest_waiting=None, oldest={}, due_since=None) == []
    assert keys(processes=(a_worker(30 * SECOND),)) == []
    [alarm] = alarms(processes=(a_worker(31 * SECOND), a_worker(45 * SECOND)))
    assert (alarm.code, alarm.since) == (Code.NO_WORKER, NOW - 31 * SECOND)
    web = replace(a_worker(), kind="web")
    assert keys(processes=(web,)) == ["no_worker"], "a web process takes no jobs"


def test_processes_that_work_by_different_rules_are_told() -> None:
    """Who is gone, and who needs no rules, differs from nobody."""
    old, new = (replace(a_worker(), ruleset=f"sha256:{letter * 64}") for letter in "ab")
    web, crawler = replace(old, kind="web"), replace(a_worker(), kind="crawler")
    assert keys(processes=(old, web, crawler, replace(new, seen_at=NOW - 31 * SECOND))) == []
    [alarm] = alarms(processes=(old, web, crawler, new))
    assert alarm.key == "rulesets_differ"
    assert alarm.finding == (
        "Processes work by different rules: 1 web, 1 worker by sha256:aaaaaaaaaaaa…; 1 worker by sha256:bbbbbbbbbbbb…."
    )
    assert "ASSAY_RULESET" in alarm.message


def test_waiting_too_long_is_an_alarm() -> None:
    """G94: the age of the backlog is watched, not only whether processes live."""
    assert keys(oldest_waiting=waiting_for(timedelta(hours=1))) == []
    [alarm] = alarms(oldest_waiting=waiting_for(timedelta(hours=1, seconds=1)))
    assert (alarm.key, alarm.since) == ("oldest_waiting", NOW - SECOND)
    assert raise_alarms(HEALTHY, replace(LIMITS, oldest_waiting=SECOND))[0].code is Code.OLDEST_WAITING


@pytest.mark.parametrize(
    ("moved", "expected"),
    [
        ({}, ["stage_stalled:fetch", "stage_stalled:scan"]),
        ({State.TIER1_SCANNING: 1}, ["stage_stalled:scan"]),
        ({State.PUBLISHED: 1}, []),
        ({State.TIER1_FAILED: 1}, []),
        ({State.TIER2_SCANNING: 1}, []),
        ({State.FAILED: 9}, ["stage_stalled:fetch", "stage_stalled:scan"]),
        ({State.RECEIVED: 9, State.DEQUEUED: 9}, ["stage_stalled:fetch", "stage_stalled:scan"]),
    ],
)
def test_a_stage_that_has_work_and_brings_nothing_out_has_stalled(moved: dict[State, int], expected: list[str]) -> None:
    """G94: work was there for the whole window and nothing came out; giving up and trying again are not results."""
    window = LIMITS.stall
    assert window == timedelta(minutes=15)
    assert keys(due_since=NOW - window, oldest=scanning_for(window), flow=flow(stall=moved)) == expected


def test_a_stage_without_work_has_not_stalled() -> None:
    """G94: nor one whose work came later, nor one that was paused at any time."""
    late, window = LIMITS.stall - SECOND, LIMITS.stall
    assert keys(due_since=NOW - late, oldest=scanning_for(late), flow=flow()) == []
    assert keys(due_since=None, oldest={}, flow=flow()) == []
    assert keys(due_since=NOW - window, oldest=scanning_for(window), flow=flow(), was_paused=True) == []


def test_what_waits_is_not_what_is_stuck_at_a_worker() -> None:
    """G94: a long queue is old, a submission that a worker took and did not bring back is stuck."""
    none = dict.fromkeys(ACTIVE, 0)
    assert keys(stuck=StuckCount(none | {State.RECEIVED: 900}, 0, 0)) == []
    assert keys(stuck=StuckCount(none | {State.RECEIVED: 900}, 0, 1)) == ["stuck"]
    assert keys(stuck=StuckCount(none, 1, 0)) == ["stuck"]
    [alarm] = alarms(stuck=StuckCount(none | {State.TIER2_SCANNING: 1001}, 0, 0))
    assert alarm.message.startswith("More than 1,000 submissions")


def test_orphans_are_an_alarm_also_after_they_are_rescued() -> None:
    """G94: somebody deleted their jobs, and should know."""
    assert keys(orphans=(Orphan(uuid4(), NOW),)) == ["orphans"]
    assert keys(chores=(a_chore(), a_chore(RESCUE_ORPHANS, amount=2))) == ["orphans"]


def test_jobs_that_cannot_be_read_are_an_alarm() -> None:
    """G25: never silent."""
    assert keys(unreadable_jobs=(7, 8)) == ["unreadable_jobs"]


def test_a_suppression_that_ends_within_a_week_is_told_and_is_no_problem() -> None:
    """Nobody is surprised by a finding that counts again."""
    assert keys(unanswered=Unanswered(suppressed_until=NOW + timedelta(days=7))) == []
    [alarm] = alarms(unanswered=Unanswered(suppressed_until=NOW + timedelta(days=7) - SECOND))
    assert (alarm.code, alarm.since, alarm.is_problem) == (Code.SUPPRESSION_ENDING, NOW - SECOND, False)


def test_many_failures_are_an_alarm_and_few_are_not() -> None:
    """Failed submissions rest where people see them; an hour in which most fail is something else."""
    assert keys(flow=flow(last_1h={State.FAILED: 9}, stall={State.PUBLISHED: 1})) == []
    assert keys(flow=flow(last_1h={State.FAILED: 10, State.PUBLISHED: 10}, stall={State.PUBLISHED: 1})) == ["failing"]
    assert keys(flow=flow(last_1h={State.FAILED: 10, State.PUBLISHED: 11}, stall={State.PUBLISHED: 1})) == []


def test_a_chore_that_is_not_done_is_missed() -> None:
    """G31: three intervals, or an interval and the whole budget; one that never ran counts from its beginning."""
    on_time, late = 180 * SECOND, 181 * SECOND
    assert keys(chores=(a_chore(), a_chore("fold counts", on_time))) == []
    [alarm] = alarms(chores=(a_chore(), a_chore("fold counts", late)))
    assert (alarm.key, alarm.since) == ("chore_overdue:fold counts", NOW - SECOND)
    assert keys(chores=(a_chore(), a_chore("fold counts", None))) == ["chore_overdue:fold counts"]
    assert keys(chores=(a_chore(), a_chore("fold counts", None, known_since=NOW))) == []
    slow = replace(a_chore("slow", late), rhythm=Rhythm("slow", 60, 600))
    assert keys(chores=(a_chore(), slow)) == []


def test_a_chore_that_keeps_failing_is_an_alarm() -> None:
    """G31: once may be a coincidence."""
    assert keys(chores=(a_chore(), a_chore("fold counts", failures=1))) == []
    assert keys(chores=(a_chore(), a_chore("fold counts", failures=2))) == ["chore_failing:fold counts"]


def test_counters_that_differ_are_an_alarm() -> None:
    """G11: the difference must be zero."""
    assert keys(chores=(a_chore(), a_chore(RECONCILE, amount=3))) == ["counters_differ"]


def test_whoever_reads_says_that_nobody_watches() -> None:
    """G93: the watcher cannot say that it is dead."""
    assert keys(chores=()) == ["detector_blind"]
    [alarm] = alarms(chores=(a_chore(WATCH, timedelta(hours=1)),))
    assert (alarm.key, alarm.since) == ("detector_blind", NOW - timedelta(hours=1))


def test_a_pause_is_no_problem() -> None:
    """G27: it is told with its reason and its end, and nobody has to do anything."""
    [alarm] = alarms(pause=Pause("moving house", "ada", NOW, NOW + timedelta(hours=1)))
    assert (alarm.code, alarm.is_problem) == (Code.PAUSED, False)
    assert "moving house" in alarm.message
    assert "2026-07-01 13:00" in alarm.message


def test_every_alarm_says_what_to_do() -> None:
    """A message that only says what is wrong wakes people up for nothing."""
    assert set(MEANS) == set(WHAT_TO_DO) == set(Code)
    [alarm] = alarms(processes=())
    assert alarm.message == f"{alarm.finding} {WHAT_TO_DO[alarm.code]}"


def test_a_source_that_nobody_looks_at_is_forgotten() -> None:
    """G53: the age of the longest unseen source is an alarm, and there is none where nobody is to watch."""
    long_ago = Freshness(3, NOW - timedelta(hours=13), 0)
    watched = replace(LIMITS, watch_every=timedelta(hours=6))
    assert [alarm.code for alarm in raise_alarms(replace(HEALTHY, sources=long_ago), watched)] == ["sources_forgotten"]
    assert raise_alarms(HEALTHY, watched) == []
    assert raise_alarms(replace(HEALTHY, sources=long_ago), LIMITS) == []
