"""From facts to alarms: what is wrong with the queue. Pure; each condition has one place."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from assay.llm.breaker import FAILURES
from assay.llm.prices import MICROS
from assay.model.submission import State
from assay.queue.rescue import RESCUE_ORPHANS
from assay.serve.discovery.alarms import discovery_alarms
from assay.serve.operations.alarm import Alarm, Code
from assay.serve.operations.facts import COUNTED, QueueFacts, WatchLimits
from assay.serve.queue.stages import FAILED, FETCHED, JUDGED, REFUSED, Stage
from assay.serve.scans.scan_nodes import is_node_alive
from assay.store.operations.periodic_jobs import ChoreRecord, Rhythm
from assay.store.operations.processes import SeenProcess

WATCH = "watch the queue"
RECONCILE = "reconcile counters"
# Once may be a coincidence: a lock, a restart.
FAILING_AFTER = 2
FEW, MOST = 10, 0.5
BEHIND = timedelta(days=1)
# As much of a digest as tells rulesets apart: `sha256:` and twelve digits.
SHOWN_DIGEST = 19


def raise_alarms(facts: QueueFacts, limits: WatchLimits) -> list[Alarm]:
    """Every condition that holds, in the order of the codes."""
    found = [alarm for condition in CONDITIONS for alarm in condition(facts, limits)]
    return sorted(found, key=lambda alarm: (list(Code).index(alarm.code), alarm.subject or ""))


def overdue_at(rhythm: Rhythm, last: datetime) -> datetime:
    """When a chore that last worked then should be missed: three turns, or a turn and all of its budget."""
    seconds = max(3 * rhythm.every_seconds, rhythm.every_seconds + rhythm.budget_seconds)
    return last + timedelta(seconds=seconds)


def is_overdue(chore: ChoreRecord, now: datetime) -> bool:
    """Whether a chore should have worked by now; one that never did counts from when it became known."""
    return now > overdue_at(chore.rhythm, chore.succeeded_at or chore.known_since)


def is_alive(process: SeenProcess, now: datetime, limits: WatchLimits) -> bool:
    """Whether a process was seen lately enough."""
    return now - process.seen_at <= limits.alive


def _no_worker(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    workers = [process for process in facts.processes if process.kind == "worker"]
    if facts.active and not any(is_alive(worker, facts.now, limits) for worker in workers):
        seen = [worker.seen_at for worker in workers]
        finding = f"{facts.active:,} submissions wait and no worker is alive."
        yield Alarm(Code.NO_WORKER, finding, since=max(seen, default=None))


def _oldest_waiting(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    oldest = facts.oldest_waiting
    if oldest is not None and facts.now - oldest.received_at > limits.oldest_waiting:
        finding = f"A submission has waited for {_duration(facts.now - oldest.received_at)}."
        yield Alarm(Code.OLDEST_WAITING, finding, since=oldest.received_at + limits.oldest_waiting)


def _stage_stalled(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    """Work was there for the whole window, the queue ran, and nothing came out."""
    if facts.was_paused:
        return
    start = facts.now - limits.stall
    scanned = facts.oldest.get(State.TIER1_SCANNING)
    out_of_scan = JUDGED.brings | REFUSED.brings | {State.TIER2_SCANNING}
    judged = facts.oldest.get(State.TIER2_SCANNING)
    had_work: tuple[tuple[str, Stage, datetime | None], ...] = (
        ("fetch", Stage("", FETCHED.brings | out_of_scan), facts.due_since),
        ("scan", Stage("", out_of_scan), scanned.updated_at if scanned else None),
        ("judge", Stage("", JUDGED.brings | REFUSED.brings), judged.updated_at if judged else None),
    )
    for name, stage, since in had_work:
        if since is not None and since <= start and not stage.count(facts.flow.stall):
            finding = f"Nothing came out of the stage `{name}` for {_duration(limits.stall)}, though work was there."
            yield Alarm(Code.STAGE_STALLED, finding, subject=name)


def _stuck(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    """What merely waits is the business of `oldest_waiting`."""
    if number := facts.stuck.at_worker:
        yield Alarm(Code.STUCK, f"{_capped(number)} submissions are stuck at a worker.")


def _orphans(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    number = len(facts.orphans) + _amount(facts, RESCUE_ORPHANS)
    if number:
        yield Alarm(Code.ORPHANS, f"{_capped(number)} submissions were found without a job.")


def _unreadable_jobs(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    if facts.unreadable_jobs:
        yield Alarm(Code.UNREADABLE_JOBS, f"{_capped(len(facts.unreadable_jobs))} jobs cannot be read.")


def _failing(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    failed, decided = FAILED.count(facts.flow.last_1h), facts.flow.drain.last_1h
    if failed >= FEW and failed >= MOST * decided:
        finding = f"{failed:,} of {decided:,} submissions could not be examined in the last hour."
        yield Alarm(Code.FAILING, finding)


def _chores(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    for chore in facts.chores:
        name, last = chore.rhythm.name, chore.succeeded_at or chore.known_since
        # That nobody watches is an alarm of its own.
        if name != WATCH and is_overdue(chore, facts.now):
            finding = f"The chore `{name}` has not been done for {_duration(facts.now - last)}."
            yield Alarm(Code.CHORE_OVERDUE, finding, name, overdue_at(chore.rhythm, last))
        if chore.failures >= FAILING_AFTER:
            yield Alarm(Code.CHORE_FAILING, f"The chore `{name}` has failed {chore.failures} times in a row.", name)


def _counters_differ(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    if number := _amount(facts, RECONCILE):
        yield Alarm(Code.COUNTERS_DIFFER, f"The counters were off by {number:,} in all.")


def _rulesets_differ(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    """What is published, and what is called stale, would depend on who is asked."""
    alive = [process for process in facts.processes if process.ruleset and is_alive(process, facts.now, limits)]
    kinds: dict[str, Counter[str]] = {}
    for process in alive:
        kinds.setdefault(process.ruleset or "", Counter())[process.kind] += 1
    if len(kinds) > 1:
        told = "; ".join(f"{_counted(kinds[version])} by {version[:SHOWN_DIGEST]}…" for version in sorted(kinds))
        yield Alarm(Code.RULESETS_DIFFER, f"Processes work by different rules: {told}.")


def _sources_forgotten(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    """Listings that nobody compares with their sources any more."""
    oldest = facts.sources.oldest_seen_at
    if limits.unseen is not None and oldest is not None and facts.now - oldest > limits.unseen:
        finding = f"A source was last seen {_duration(facts.now - oldest)} ago."
        yield Alarm(Code.SOURCES_FORGOTTEN, finding, since=oldest + limits.unseen)


def _search_misses(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    if facts.search.open:
        finding = f"{_capped(facts.search.open)} listed skills are not found by their own names"
        yield Alarm(Code.SEARCH_MISSES, f"{finding}, such as {facts.search.examples[0]}.")


def _tokens_refused(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    if facts.refused_tokens:
        yield Alarm(Code.TOKENS_REFUSED, f"GitHub refuses {facts.refused_tokens} of our tokens.")


def _judge_down(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    """A judge that gives no verdicts must not look like one that has nothing to do."""
    judge = facts.judge
    if limits.judge_model is not None and judge.failures >= FAILURES:
        said = f": {judge.problem}" if judge.problem else "."
        yield Alarm(Code.JUDGE_DOWN, f"The model has failed {judge.failures:,} times in a row{said}")


def _judge_budget_spent(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    stopped = facts.judge.stopped_at
    if limits.judge_model is not None and stopped is not None:
        finding = f"The judge has stopped: {facts.judge.spent_micros / MICROS:.2f} were spent today."
        yield Alarm(Code.JUDGE_BUDGET_SPENT, finding, since=stopped)


def _judge_behind(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    oldest = facts.judge.oldest_second_look_at
    if oldest is not None and facts.now - oldest > BEHIND:
        number = _capped(facts.judge.second_looks)
        finding = f"{number} published contents wait for a second look, one since {oldest:%Y-%m-%d}."
        yield Alarm(Code.JUDGE_BEHIND, finding, since=oldest + BEHIND)


def _deep_scans(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    """Nobody there is told at once where there has been somebody, and otherwise when something has waited too long."""
    deep, oldest = facts.deep, facts.deep.oldest
    if deep.failed:
        yield Alarm(Code.DEEP_SCAN_ERRORS, f"{_capped(deep.failed)} deep scans could not be done in the last hour.")
    if oldest is None:
        return
    is_anybody_there = any(is_node_alive(node, facts.now, limits.deep_lease) for node in facts.nodes)
    is_late = facts.now - oldest > limits.deep_waiting
    if not is_anybody_there and (facts.nodes or is_late):
        yield Alarm(Code.NO_SCAN_NODE, f"{_capped(deep.waiting)} deep scans wait and no scan node is alive.")
    elif is_late:
        finding = f"A deep scan has waited for {_duration(facts.now - oldest)}."
        yield Alarm(Code.DEEP_SCANS_WAITING, finding, since=oldest + limits.deep_waiting)


def _reports_unanswered(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    since = facts.unanswered.report_at
    if since is not None and facts.now - since > limits.report:
        finding = f"A security report has waited for an answer for {_duration(facts.now - since)}."
        yield Alarm(Code.REPORTS_UNANSWERED, finding, since=since + limits.report)


def _reviews_waiting(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    since = facts.unanswered.review_at
    if since is not None and facts.now - since > limits.review:
        finding = f"A submission has waited for a reviewer for {_duration(facts.now - since)}."
        yield Alarm(Code.REVIEWS_WAITING, finding, since=since + limits.review)


def _suppression_ending(facts: QueueFacts, limits: WatchLimits) -> Iterator[Alarm]:
    until = facts.unanswered.suppressed_until
    if until is not None and until - facts.now < limits.ending:
        finding = f"A suppression ends on {until:%Y-%m-%d}."
        yield Alarm(Code.SUPPRESSION_ENDING, finding, since=until - limits.ending)


def _detector_blind(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    """The watching chore cannot say that it does not watch, so whoever reads says it."""
    watching = next((chore for chore in facts.chores if chore.rhythm.name == WATCH), None)
    if watching is None:
        yield Alarm(Code.DETECTOR_BLIND, "Nobody has ever watched this queue.")
    elif is_overdue(watching, facts.now):
        last = watching.succeeded_at or watching.known_since
        yield Alarm(Code.DETECTOR_BLIND, f"Nobody has watched the queue for {_duration(facts.now - last)}.", since=last)


def _paused(facts: QueueFacts, _limits: WatchLimits) -> Iterator[Alarm]:
    if facts.pause is not None:
        finding = f"The queue is paused until {facts.pause.expires_at:%Y-%m-%d %H:%M} UTC: {facts.pause.reason}."
        yield Alarm(Code.PAUSED, finding, since=facts.pause.paused_at)


CONDITIONS: tuple[Callable[[QueueFacts, WatchLimits], Iterator[Alarm]], ...] = (
    _no_worker,
    _oldest_waiting,
    _stage_stalled,
    _stuck,
    _orphans,
    _unreadable_jobs,
    _failing,
    _chores,
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
    """How much a chore found to repair when it was last done."""
    return next((chore.amount or 0 for chore in facts.chores if chore.rhythm.name == name), 0)


def _counted(kinds: Counter[str]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))


def _capped(number: int) -> str:
    return f"More than {COUNTED:,}" if number > COUNTED else f"{number:,}"


def _duration(age: timedelta) -> str:
    minutes, hours = age.total_seconds() / 60, age.total_seconds() / 3600
    return f"{hours:.1f} h" if hours >= 2 else f"{minutes:.0f} min" if minutes >= 2 else f"{age.total_seconds():.0f} s"
