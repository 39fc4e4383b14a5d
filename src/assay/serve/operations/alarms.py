"""Derives the alarms from the facts about the queue. Pure; one function per condition."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from assay.llm.breaker import MAX_FAILURES
from assay.llm.prices import MICROS
from assay.model.submission import State
from assay.queue.rescue import RESCUE_ORPHANS
from assay.serve.discovery.alarms import discovery_alarms
from assay.serve.operations.alarm import Alarm, AlarmCode
from assay.serve.operations.facts import COUNT_LIMIT, QueueFacts, WatchLimits
from assay.serve.queue.flow import FAILED, FETCHED, JUDGED, REFUSED, Stage
from assay.store.operations.periodic_jobs import JobSchedule, PeriodicJobRecord
from assay.store.operations.processes import SeenProcess

WATCH = "watch the queue"
RECONCILE = "reconcile counters"
# A single failure may be a coincidence, such as a lock or a restart.
FAILING_AFTER = 2
FAILING_MIN, FAILING_SHARE = 10, 0.5
BEHIND = timedelta(days=1)
# The part of a digest that distinguishes rulesets: `sha256:` and twelve digits.
SHOWN_DIGEST = 19


def raise_alarms(facts: QueueFacts, limits: WatchLimits) -> list[Alarm]:
    """Return an alarm for every condition that holds, in the order of the codes."""
    found = [alarm for condition in CONDITIONS for alarm in condition(facts, limits)]
    return sorted(found, key=lambda alarm: (list(AlarmCode).index(alarm.code), alarm.subject or ""))


def overdue_at(schedule: JobSchedule, last: datetime) -> datetime:
    """Return when a job is overdue: three intervals after its last success, or one interval and its time limit."""
    seconds = max(3 * schedule.every_seconds, schedule.every_seconds + schedule.budget_seconds)
    return last + timedelta(seconds=seconds)


def is_overdue(job: PeriodicJobRecord, now: datetime) -> bool:
    """Return whether a job should have succeeded by now; a new job counts from its registration."""
    return now > overdue_at(job.schedule, job.succeeded_at or job.known_since)


def is_alive(process: SeenProcess, now: datetime, limits: WatchLimits) -> bool:
    return now - process.seen_at <= limits.alive


def _no_worker(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    workers = [process for process in facts.processes if process.kind == "worker"]
    if facts.active and not any(is_alive(worker, facts.now, limits) for worker in workers):
        seen = [worker.seen_at for worker in workers]
        summary = f"{facts.active:,} submissions are waiting and no worker is running."
        yield Alarm(AlarmCode.NO_WORKER, summary, since=max(seen, default=None))


def _oldest_waiting(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    oldest = facts.oldest_waiting
    if oldest is not None and facts.now - oldest.received_at > limits.oldest_waiting:
        summary = f"A submission has waited for {_duration(facts.now - oldest.received_at)}."
        yield Alarm(AlarmCode.OLDEST_WAITING, summary, since=oldest.received_at + limits.oldest_waiting)


def _stage_stalled(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    """Alarm if a stage had work for the whole window, the queue was not paused, and nothing was completed."""
    if facts.was_paused:
        return
    start = facts.now - limits.stall
    scanned = facts.oldest.get(State.TIER1_SCANNING)
    out_of_scan = JUDGED.passed | REFUSED.passed | {State.TIER2_SCANNING}
    judged = facts.oldest.get(State.TIER2_SCANNING)
    had_work: tuple[tuple[str, Stage, datetime | None], ...] = (
        ("fetch", Stage("", FETCHED.passed | out_of_scan), facts.due_since),
        ("scan", Stage("", out_of_scan), scanned.updated_at if scanned else None),
        ("judge", Stage("", JUDGED.passed | REFUSED.passed), judged.updated_at if judged else None),
    )
    for name, stage, since in had_work:
        if since is not None and since <= start and not stage.count(facts.flow.stall):
            summary = f"The stage `{name}` has completed nothing for {_duration(limits.stall)}, although it had work."
            yield Alarm(AlarmCode.STAGE_STALLED, summary, subject=name)


def _stuck(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    """Submissions that wait for a worker are covered by `oldest_waiting`."""
    if number := facts.stuck.at_worker:
        yield Alarm(AlarmCode.STUCK, f"{_capped(number)} submissions are stuck at a worker.")


def _orphans(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    number = len(facts.orphans) + _amount(facts, RESCUE_ORPHANS)
    if number:
        yield Alarm(AlarmCode.ORPHANS, f"{_capped(number)} active submissions had no job.")


def _unreadable_jobs(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    if facts.unreadable_jobs:
        yield Alarm(AlarmCode.UNREADABLE_JOBS, f"{_capped(len(facts.unreadable_jobs))} jobs are unreadable.")


def _failing(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    failed, decided = FAILED.count(facts.flow.last_1h), facts.flow.drain.last_1h
    if failed >= FAILING_MIN and failed >= FAILING_SHARE * decided:
        summary = f"{failed:,} of {decided:,} submissions failed in the last hour."
        yield Alarm(AlarmCode.FAILING, summary)


def _periodic_jobs(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    for job in facts.periodic_jobs:
        name, last = job.schedule.name, job.succeeded_at or job.known_since
        # The job that watches the queue has its own alarm, `detector_blind`.
        if name != WATCH and is_overdue(job, facts.now):
            summary = f"The periodic job `{name}` has not succeeded for {_duration(facts.now - last)}."
            yield Alarm(AlarmCode.CHORE_OVERDUE, summary, name, overdue_at(job.schedule, last))
        if job.failures >= FAILING_AFTER:
            yield Alarm(
                AlarmCode.CHORE_FAILING, f"The periodic job `{name}` has failed {job.failures} times in a row.", name
            )


def _counters_differ(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    if number := _amount(facts, RECONCILE):
        yield Alarm(AlarmCode.COUNTERS_DIFFER, f"The counters were off by {number:,} in total.")


def _rulesets_differ(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    """With several rulesets, verdicts and staleness would depend on the process."""
    alive = [process for process in facts.processes if process.ruleset and is_alive(process, facts.now, limits)]
    kinds: dict[str, Counter[str]] = {}
    for process in alive:
        kinds.setdefault(process.ruleset or "", Counter())[process.kind] += 1
    if len(kinds) > 1:
        users = "; ".join(f"{_counted(kinds[version])} use {version[:SHOWN_DIGEST]}…" for version in sorted(kinds))
        yield Alarm(AlarmCode.RULESETS_DIFFER, f"Running processes use different rulesets: {users}.")


def _sources_forgotten(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    oldest = facts.sources.oldest_seen_at
    if limits.unseen is not None and oldest is not None and facts.now - oldest > limits.unseen:
        summary = f"An upstream repository was last checked {_duration(facts.now - oldest)} ago."
        yield Alarm(AlarmCode.SOURCES_FORGOTTEN, summary, since=oldest + limits.unseen)


def _search_misses(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    if facts.search.open:
        summary = f"{_capped(facts.search.open)} listed skills are not found by their own name"
        yield Alarm(AlarmCode.SEARCH_MISSES, f"{summary}, such as {facts.search.examples[0]}.")


def _tokens_refused(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    if facts.refused_tokens:
        yield Alarm(AlarmCode.TOKENS_REFUSED, f"GitHub rejects {facts.refused_tokens} of the configured tokens.")


def _judge_down(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    """A failing judge must not look like an idle one."""
    judge = facts.judge
    if limits.judge_model is not None and judge.failures >= MAX_FAILURES:
        cause = f": {judge.problem}" if judge.problem else "."
        yield Alarm(AlarmCode.JUDGE_DOWN, f"The judge's model has failed {judge.failures:,} times in a row{cause}")


def _judge_budget_spent(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    stopped = facts.judge.stopped_at
    if limits.judge_model is not None and stopped is not None:
        summary = f"The judge has stopped for today: {facts.judge.spent_micros / MICROS:.2f} of its budget were spent."
        yield Alarm(AlarmCode.JUDGE_BUDGET_SPENT, summary, since=stopped)


def _judge_behind(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    oldest = facts.judge.oldest_second_look_at
    if oldest is not None and facts.now - oldest > BEHIND:
        number = _capped(facts.judge.second_looks)
        summary = f"{number} published contents are waiting for the judge, one since {oldest:%Y-%m-%d}."
        yield Alarm(AlarmCode.JUDGE_BEHIND, summary, since=oldest + BEHIND)


def _deep_scans(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    """Alert immediately if every known node is gone; otherwise only after `deep_waiting`."""
    deep, oldest = facts.deep, facts.deep.oldest
    if deep.failed:
        yield Alarm(AlarmCode.DEEP_SCAN_ERRORS, f"{_capped(deep.failed)} deep scans failed in the last hour.")
    if oldest is None:
        return
    is_anybody_there = any(node.is_alive(facts.now, limits.deep_lease) for node in facts.nodes)
    is_late = facts.now - oldest > limits.deep_waiting
    if not is_anybody_there and (facts.nodes or is_late):
        yield Alarm(
            AlarmCode.NO_SCAN_NODE, f"{_capped(deep.waiting)} deep scans are waiting and no scan node is running."
        )
    elif is_late:
        summary = f"A deep scan has waited for {_duration(facts.now - oldest)}."
        yield Alarm(AlarmCode.DEEP_SCANS_WAITING, summary, since=oldest + limits.deep_waiting)


def _reports_unanswered(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    since = facts.unanswered.report_at
    if since is not None and facts.now - since > limits.report:
        summary = f"A security report has waited {_duration(facts.now - since)} for an answer."
        yield Alarm(AlarmCode.REPORTS_UNANSWERED, summary, since=since + limits.report)


def _reviews_waiting(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    since = facts.unanswered.review_at
    if since is not None and facts.now - since > limits.review:
        summary = f"A submission has waited {_duration(facts.now - since)} for a review."
        yield Alarm(AlarmCode.REVIEWS_WAITING, summary, since=since + limits.review)


def _suppression_ending(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    until = facts.unanswered.suppressed_until
    if until is not None and until - facts.now < limits.ending:
        summary = f"A suppression expires on {until:%Y-%m-%d}."
        yield Alarm(AlarmCode.SUPPRESSION_ENDING, summary, since=until - limits.ending)


def _detector_blind(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    """The job that watches the queue cannot report its own absence, so readers of the health do."""
    watching = next((job for job in facts.periodic_jobs if job.schedule.name == WATCH), None)
    if watching is None:
        yield Alarm(AlarmCode.DETECTOR_BLIND, "The queue has never been monitored.")
    elif is_overdue(watching, facts.now):
        last = watching.succeeded_at or watching.known_since
        yield Alarm(
            AlarmCode.DETECTOR_BLIND, f"The queue was last monitored {_duration(facts.now - last)} ago.", since=last
        )


def _paused(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    if facts.pause is not None:
        summary = f"The queue is paused until {facts.pause.expires_at:%Y-%m-%d %H:%M} UTC: {facts.pause.reason}."
        yield Alarm(AlarmCode.PAUSED, summary, since=facts.pause.paused_at)


CONDITIONS: tuple[Callable[[QueueFacts, WatchLimits], Iterator[Alarm]], ...] = (
    _no_worker,
    _oldest_waiting,
    _stage_stalled,
    _stuck,
    _orphans,
    _unreadable_jobs,
    _failing,
    _periodic_jobs,
    _counters_differ,
    _rulesets_differ,
    _sources_forgotten,
    _search_misses,
    _tokens_refused,
    lambda facts, _: discovery_alarms(facts.discovery, facts.now),
    _judge_down,
    _judge_budget_spent,
    _judge_behind,
    _deep_scans,
    _reports_unanswered,
    _reviews_waiting,
    _suppression_ending,
    _detector_blind,
    _paused,
)


def _amount(facts: QueueFacts, name: str) -> int:
    """Return the number of repairs that a job made in its last run."""
    return next((job.amount or 0 for job in facts.periodic_jobs if job.schedule.name == name), 0)


def _counted(kinds: Counter[str]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))


def _capped(number: int) -> str:
    return f"More than {COUNT_LIMIT:,}" if number > COUNT_LIMIT else f"{number:,}"


def _duration(age: timedelta) -> str:
    minutes, hours = age.total_seconds() / 60, age.total_seconds() / 3600
    return f"{hours:.1f} h" if hours >= 2 else f"{minutes:.0f} min" if minutes >= 2 else f"{age.total_seconds():.0f} s"
