"""From facts to alarms: each condition alone and at its threshold."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from assay.model.submission import ACTIVE, State
from assay.queue.rescue import RESCUE_ORPHANS
from assay.serve.operations.alarm import ALARM_MEANINGS, ALARM_REMEDIES, Alarm, AlarmCode
from assay.serve.operations.alarms import RECONCILE, WATCH, raise_alarms
from assay.serve.operations.facts import QueueFacts, WatchLimits
from assay.serve.queue.flow import QueueFlow
from assay.store.moderation.security_reports import OldestUnanswered
from assay.store.operations.periodic_jobs import JobSchedule, PeriodicJobRecord
from assay.store.operations.processes import SeenProcess
from assay.store.queue.backlog import OldestSubmission
from assay.store.queue.orphans import Orphan
from assay.store.queue.pauses import Pause
from assay.store.queue.stuck import StuckCount
from assay.store.repositories.upstream import Freshness
from tests.support.backlog import NOW

LIMITS = WatchLimits(stuck=dict.fromkeys(ACTIVE, timedelta(seconds=300)))
NOTHING = dict.fromkeys(State, 0)
SECOND = timedelta(seconds=1)


def a_job(name: str = WATCH, succeeded: timedelta | None = SECOND, **others: object) -> PeriodicJobRecord:
    """Return a periodic job of every minute with this last run."""
    record = PeriodicJobRecord(JobSchedule(name, 60, 30), NOW - timedelta(days=9), None, 1, 0, None, None, 0)
    at = NOW - succeeded if succeeded is not None else None
    return replace(record, **{"succeeded_at": at, **others})


def a_worker(seen: timedelta = SECOND) -> SeenProcess:
    """Return a worker last seen this long ago."""
    return SeenProcess(uuid4(), "worker", "1", 0, NOW - timedelta(days=1), NOW - seen)


def flow(**arrivals: dict[State, int]) -> QueueFlow:
    """Return the recent arrivals in each state."""
    return QueueFlow(**{window: NOTHING | arrivals.get(window, {}) for window in ("last_1h", "last_6h", "stall")})


# A working queue: something is waiting, something is being scanned, and results come out.
HEALTHY = QueueFacts(
    now=NOW,
    by_state=NOTHING | {State.RECEIVED: 5, State.TIER1_SCANNING: 1},
    oldest={State.TIER1_SCANNING: OldestSubmission(uuid4(), State.TIER1_SCANNING, NOW - SECOND, NOW - SECOND)},
    oldest_waiting=OldestSubmission(uuid4(), State.RECEIVED, NOW - SECOND, NOW - 60 * SECOND),
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
    periodic_jobs=(a_job(), a_job(RECONCILE), a_job(RESCUE_ORPHANS)),
    sources=Freshness(3, NOW - timedelta(hours=1), 0),
)


def alarms(**facts: object) -> list[Alarm]:
    """Return the alarms of a healthy queue with these facts changed."""
    return raise_alarms(replace(HEALTHY, **facts), LIMITS)


def keys(**facts: object) -> list[str]:
    """Return the same by key."""
    return [alarm.key for alarm in alarms(**facts)]


def waiting_for(age: timedelta) -> OldestSubmission:
    """Return a submission that has waited this long."""
    return OldestSubmission(uuid4(), State.RECEIVED, NOW - SECOND, NOW - age)


def scanning_for(age: timedelta) -> dict[State, OldestSubmission]:
    """Return a submission that has been scanned this long."""
    return {State.TIER1_SCANNING: OldestSubmission(uuid4(), State.TIER1_SCANNING, NOW - age, NOW - age)}


def test_healthy_queue_raises_no_alarm() -> None:
    assert alarms() == []


def test_missing_worker_matters_only_with_work() -> None:
    """G93."""
    assert keys(processes=()) == ["no_worker"]
    assert keys(processes=(), by_state=NOTHING, oldest_waiting=None, oldest={}, due_since=None) == []
    assert keys(processes=(a_worker(30 * SECOND),)) == []
    [alarm] = alarms(processes=(a_worker(31 * SECOND), a_worker(45 * SECOND)))
    assert (alarm.code, alarm.since) == (AlarmCode.NO_WORKER, NOW - 31 * SECOND)
    web = replace(a_worker(), kind="web")
    assert keys(processes=(web,)) == ["no_worker"], "a web process takes no jobs"


def test_different_rulesets_raise_an_alarm() -> None:
    """Dead processes and those without rules do not count."""
    old, new = (replace(a_worker(), ruleset=f"sha256:{letter * 64}") for letter in "ab")
    web, crawler = replace(old, kind="web"), replace(a_worker(), kind="crawler")
    assert keys(processes=(old, web, crawler, replace(new, seen_at=NOW - 31 * SECOND))) == []
    [alarm] = alarms(processes=(old, web, crawler, new))
    assert alarm.key == "rulesets_differ"
    assert alarm.summary == (
        "Running processes use different rulesets: "
        "1 web, 1 worker use sha256:aaaaaaaaaaaa…; 1 worker use sha256:bbbbbbbbbbbb…."
    )
    assert "ASSAY_RULESET" in alarm.message


def test_old_backlog_raises_an_alarm() -> None:
    """G94."""
    assert keys(oldest_waiting=waiting_for(timedelta(hours=1))) == []
    [alarm] = alarms(oldest_waiting=waiting_for(timedelta(hours=1, seconds=1)))
    assert (alarm.key, alarm.since) == ("oldest_waiting", NOW - SECOND)
    assert raise_alarms(HEALTHY, replace(LIMITS, oldest_waiting=SECOND))[0].code is AlarmCode.OLDEST_WAITING


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
def test_stage_with_work_and_no_results_has_stalled(moved: dict[State, int], expected: list[str]) -> None:
    """G94: retries and failures are not results."""
    window = LIMITS.stall
    assert window == timedelta(minutes=15)
    assert keys(due_since=NOW - window, oldest=scanning_for(window), flow=flow(stall=moved)) == expected


def test_stage_without_work_has_not_stalled() -> None:
    """G94: nor one whose work came later or that was paused."""
    late, window = LIMITS.stall - SECOND, LIMITS.stall
    assert keys(due_since=NOW - late, oldest=scanning_for(late), flow=flow()) == []
    assert keys(due_since=None, oldest={}, flow=flow()) == []
    assert keys(due_since=NOW - window, oldest=scanning_for(window), flow=flow(), was_paused=True) == []


def test_waiting_is_not_stuck() -> None:
    """G94: only a submission held by a worker too long is stuck."""
    none = dict.fromkeys(ACTIVE, 0)
    assert keys(stuck=StuckCount(none | {State.RECEIVED: 900}, 0, 0)) == []
    assert keys(stuck=StuckCount(none | {State.RECEIVED: 900}, 0, 1)) == ["stuck"]
    assert keys(stuck=StuckCount(none, 1, 0)) == ["stuck"]
    [alarm] = alarms(stuck=StuckCount(none | {State.TIER2_SCANNING: 1001}, 0, 0))
    assert alarm.message.startswith("More than 1,000 submissions")


def test_rescued_orphans_raise_an_alarm() -> None:
    """G94."""
    assert keys(orphans=(Orphan(uuid4(), NOW),)) == ["orphans"]
    assert keys(periodic_jobs=(a_job(), a_job(RESCUE_ORPHANS, amount=2))) == ["orphans"]


def test_unreadable_jobs_raise_an_alarm() -> None:
    """G25."""
    assert keys(unreadable_jobs=(7, 8)) == ["unreadable_jobs"]


def test_ending_suppression_is_a_notice() -> None:
    assert keys(unanswered=OldestUnanswered(suppressed_until=NOW + timedelta(days=7))) == []
    [alarm] = alarms(unanswered=OldestUnanswered(suppressed_until=NOW + timedelta(days=7) - SECOND))
    assert (alarm.code, alarm.since, alarm.is_problem) == (AlarmCode.SUPPRESSION_ENDING, NOW - SECOND, False)


def test_many_failures_raise_an_alarm() -> None:
    assert keys(flow=flow(last_1h={State.FAILED: 9}, stall={State.PUBLISHED: 1})) == []
    assert keys(flow=flow(last_1h={State.FAILED: 10, State.PUBLISHED: 10}, stall={State.PUBLISHED: 1})) == ["failing"]
    assert keys(flow=flow(last_1h={State.FAILED: 10, State.PUBLISHED: 11}, stall={State.PUBLISHED: 1})) == []


def test_overdue_periodic_job_raises_an_alarm() -> None:
    """G31: after three intervals, or an interval plus its time limit."""
    on_time, late = 180 * SECOND, 181 * SECOND
    assert keys(periodic_jobs=(a_job(), a_job("fold counts", on_time))) == []
    [alarm] = alarms(periodic_jobs=(a_job(), a_job("fold counts", late)))
    assert (alarm.key, alarm.since) == ("chore_overdue:fold counts", NOW - SECOND)
    assert keys(periodic_jobs=(a_job(), a_job("fold counts", None))) == ["chore_overdue:fold counts"]
    assert keys(periodic_jobs=(a_job(), a_job("fold counts", None, known_since=NOW))) == []
    slow = replace(a_job("slow", late), schedule=JobSchedule("slow", 60, 600))
    assert keys(periodic_jobs=(a_job(), slow)) == []


def test_repeatedly_failing_periodic_job_raises_an_alarm() -> None:
    """G31."""
    assert keys(periodic_jobs=(a_job(), a_job("fold counts", failures=1))) == []
    assert keys(periodic_jobs=(a_job(), a_job("fold counts", failures=2))) == ["chore_failing:fold counts"]


def test_wrong_counters_raise_an_alarm() -> None:
    """G11."""
    assert keys(periodic_jobs=(a_job(), a_job(RECONCILE, amount=3))) == ["counters_differ"]


def test_missing_watcher_raises_an_alarm() -> None:
    """G93."""
    assert keys(periodic_jobs=()) == ["detector_blind"]
    [alarm] = alarms(periodic_jobs=(a_job(WATCH, timedelta(hours=1)),))
    assert (alarm.key, alarm.since) == ("detector_blind", NOW - timedelta(hours=1))


def test_pause_is_a_notice() -> None:
    """G27."""
    [alarm] = alarms(pause=Pause("moving house", "ada", NOW, NOW + timedelta(hours=1)))
    assert (alarm.code, alarm.is_problem) == (AlarmCode.PAUSED, False)
    assert "moving house" in alarm.message
    assert "2026-07-01 13:00" in alarm.message


def test_every_alarm_has_a_remedy() -> None:
    assert set(ALARM_MEANINGS) == set(ALARM_REMEDIES) == set(AlarmCode)
    [alarm] = alarms(processes=())
    assert alarm.message == f"{alarm.summary} {ALARM_REMEDIES[alarm.code]}"


def test_unchecked_upstream_raises_an_alarm() -> None:
    """G53: unless watching is disabled."""
    long_ago = Freshness(3, NOW - timedelta(hours=13), 0)
    watched = replace(LIMITS, watch_every=timedelta(hours=6))
    assert [alarm.code for alarm in raise_alarms(replace(HEALTHY, sources=long_ago), watched)] == ["sources_forgotten"]
    assert raise_alarms(HEALTHY, watched) == []
    assert raise_alarms(replace(HEALTHY, sources=long_ago), LIMITS) == []
