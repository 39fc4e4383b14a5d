"""From the health of the queue to its JSON."""

from datetime import datetime, timedelta
from uuid import UUID

from assay.model.submission import State
from assay.serve.operations.alarms import is_alive, is_overdue
from assay.serve.operations.facts import COUNTED, QueueFacts
from assay.serve.queue.health import QueueHealth, RaisedAlarm
from assay.serve.queue.stages import STAGES
from assay.serve.queue.stuck import Stuck
from assay.store.operations.periodic_jobs import ChoreRecord
from assay.store.operations.processes import SeenProcess
from assay.store.repositories.upstream import Freshness
from assay.store.skills.probes import ProbeRecord
from assay.web.discovery.present import present_discovery
from assay.web.http.present import repository_url
from assay.web.queue.json import (
    AlarmView,
    ChoreView,
    CorruptView,
    DeepScansView,
    DrainRateView,
    OldestView,
    OrphanedView,
    ProcessView,
    QueueHealthView,
    QueuePauseView,
    SearchProbesView,
    SourcesView,
    StageView,
    StuckCountView,
    StuckView,
)
from assay.web.scans.judge_json import present_judge

SHOWN_JOBS = 10


def present_stuck(stuck: Stuck, web_url: str) -> StuckView:
    """A stuck submission."""
    return StuckView(
        id=stuck.id,
        state=stuck.state,
        repo_url=repository_url(stuck.repository, web_url),
        skill_name=stuck.skill_name,
        skill_path=stuck.skill_path,
        updated_at=stuck.updated_at,
        stuck_for_ms=stuck.stuck_for_ms,
        why=stuck.why,
    )


def present_health(health: QueueHealth) -> QueueHealthView:
    """Everything that anybody may know; hosts and errors stay in the logs."""
    facts = health.facts
    drain, pause = facts.flow.drain, facts.pause
    return QueueHealthView(
        generated_at=facts.now,
        degraded=health.is_degraded,
        alarms=[_present_alarm(raised) for raised in health.alarms],
        waiting=facts.waiting,
        oldest_waiting=_oldest_waiting(facts),
        oldest_active=_oldest_active(facts),
        stuck=_present_stuck_count(facts),
        orphaned=_present_orphaned(facts),
        corrupt=_present_corrupt(facts),
        drain_rate=DrainRateView(last_1h=drain.last_1h, last_6h=drain.last_6h, per_second=drain.per_second),
        stages=[
            StageView(
                stage=stage.name, last_1h=stage.count(facts.flow.last_1h), last_6h=stage.count(facts.flow.last_6h)
            )
            for stage in STAGES
        ],
        processes=[_present_process(each, health) for each in facts.processes],
        chores=[_present_chore(chore, facts.now) for chore in facts.chores],
        paused=QueuePauseView(reason=pause.reason, until=pause.expires_at) if pause else None,
        sources=_present_sources(facts.sources, health.limits.watch_every),
        search=_present_search(facts.search),
        discovery=present_discovery(facts.discovery),
        judge=present_judge(health),
        deep_scans=_present_deep_scans(health),
    )


def short_name(process: SeenProcess) -> str:
    """Enough to tell processes apart, and nothing of where they run."""
    return process.id.hex[-8:]


def _oldest_waiting(facts: QueueFacts) -> OldestView | None:
    oldest = facts.oldest_waiting
    return _aged(oldest.id, oldest.state, oldest.received_at, facts.now) if oldest else None


def _oldest_active(facts: QueueFacts) -> OldestView | None:
    oldest = min(facts.oldest.values(), key=lambda each: each.updated_at, default=None)
    return _aged(oldest.id, oldest.state, oldest.updated_at, facts.now) if oldest else None


def _present_alarm(raised: RaisedAlarm) -> AlarmView:
    alarm = raised.alarm
    return AlarmView(code=alarm.code, subject=alarm.subject, message=alarm.message, since=raised.since)


def _present_stuck_count(facts: QueueFacts) -> StuckCountView:
    most = facts.most_stuck
    return StuckCountView(
        count=min(facts.stuck.total, COUNTED),
        count_is_exact=facts.stuck.total <= COUNTED,
        oldest=_aged(most.id, most.state, most.updated_at, facts.now) if most else None,
    )


def _present_orphaned(facts: QueueFacts) -> OrphanedView:
    oldest = facts.orphans[0] if facts.orphans else None
    return OrphanedView(
        count=len(facts.orphans),
        count_is_exact=facts.saw_all_orphans,
        oldest_id=oldest.id if oldest else None,
        oldest_updated_at=oldest.updated_at if oldest else None,
    )


def _present_corrupt(facts: QueueFacts) -> CorruptView:
    number = len(facts.unreadable_jobs)
    return CorruptView(
        count=min(number, COUNTED),
        count_is_exact=number <= COUNTED,
        job_ids=list(facts.unreadable_jobs[:SHOWN_JOBS]),
    )


def _present_process(process: SeenProcess, health: QueueHealth) -> ProcessView:
    return ProcessView(
        id=short_name(process),
        kind=process.kind,
        version=process.version,
        alive=is_alive(process, health.facts.now, health.limits),
        seen_at=process.seen_at,
        in_flight=process.in_flight if process.kind == "worker" else None,
        ruleset=process.ruleset,
    )


def _present_chore(chore: ChoreRecord, now: datetime) -> ChoreView:
    return ChoreView(
        name=chore.rhythm.name,
        every_seconds=chore.rhythm.every_seconds,
        last_success_at=chore.succeeded_at,
        last_duration_ms=chore.duration_ms,
        overdue=is_overdue(chore, now),
        failures=chore.failures,
    )


def _present_sources(sources: Freshness, every: timedelta | None) -> SourcesView:
    return SourcesView(
        watched=sources.sources,
        oldest_seen_at=sources.oldest_seen_at,
        failing=sources.failing,
        target_seconds=int(every.total_seconds()) if every else None,
    )


def _present_search(record: ProbeRecord) -> SearchProbesView:
    return SearchProbesView(
        probed=record.probed,
        missed=record.missed,
        last_probed_at=record.probed_at,
        still_missed=min(record.open, COUNTED),
        examples=list(record.examples),
    )


def _present_deep_scans(health: QueueHealth) -> DeepScansView:
    deep = health.facts.deep
    return DeepScansView(
        waiting=min(deep.waiting, COUNTED),
        oldest_waiting_since=deep.oldest,
        running=min(deep.running, COUNTED),
        failed_last_1h=min(deep.failed, COUNTED),
        nodes_alive=len(health.live_nodes),
        nodes=len(health.facts.nodes),
    )


def _aged(number: UUID, state: State, since: datetime, now: datetime) -> OldestView:
    return OldestView(id=number, state=state, age_ms=max(0, round((now - since).total_seconds() * 1000)))
