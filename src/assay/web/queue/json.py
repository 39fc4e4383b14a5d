"""JSON of the queue: health, stuck submissions and the admin routes."""

from datetime import datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

import msgspec

from assay.model.submission import Origin, State
from assay.model.text import WITHOUT_NUL
from assay.operations.pause import DEFAULT_PAUSE_SECONDS, MAX_PAUSE_SECONDS
from assay.serve.operations.alarm import AlarmCode
from assay.serve.operations.alarms import is_alive, is_overdue
from assay.serve.operations.facts import COUNT_LIMIT, QueueFacts
from assay.serve.queue.flow import STAGES
from assay.serve.queue.health import QueueHealth, RaisedAlarm
from assay.serve.queue.stuck import Stuck, StuckReason
from assay.store.operations.periodic_jobs import PeriodicJobRecord
from assay.store.operations.processes import SeenProcess
from assay.store.queue.jobs import QueueEnd
from assay.store.queue.pauses import Pause
from assay.store.repositories.upstream import Freshness
from assay.store.skills.probes import ProbeRecord
from assay.web.discovery.json import DiscoveryView, present_discovery
from assay.web.http.json import Body, View
from assay.web.http.links import repository_url
from assay.web.scans.json import JudgeView, present_judge
from assay.web.submissions.submit_json import RepoUrl

SHOWN_JOBS = 10
MOST_AT_ONCE = 1_000
Reason = Annotated[
    str,
    msgspec.Meta(
        min_length=1,
        max_length=500,
        pattern=WITHOUT_NUL,
        description="The reason for this action; it is shown in the history of the submission.",
    ),
]
RequeueableState = Literal["PUBLISHED", "NEEDS_REVIEW", "TIER1_FAILED", "REJECTED", "FAILED", "DEQUEUED", "ON_HOLD"]
Ids = Annotated[list[UUID], msgspec.Meta(min_length=1, max_length=MOST_AT_ONCE)]


class StuckView(View, frozen=True):
    """A stuck submission: for how long it has been stuck, and why."""

    id: UUID
    state: State
    repo_url: str | None
    skill_name: str
    skill_path: str
    updated_at: datetime
    stuck_for_ms: int
    why: StuckReason


class StuckPageView(View, frozen=True):
    """A page of stuck submissions, longest in their state first."""

    stuck: list[StuckView]
    next_cursor: str | None
    generated_at: datetime


class AlarmView(View, frozen=True):
    """A raised alarm. The message says what is wrong and what to do; `since` is when the alarm was raised."""

    code: AlarmCode
    subject: str | None
    message: str
    since: datetime


class OldestView(View, frozen=True):
    """A submission, and how long it has been in its current state."""

    id: UUID
    state: State
    age_ms: int


class StuckCountView(View, frozen=True):
    """The number of stuck submissions, counted up to 1,000, and the one that has been stuck longest."""

    count: int
    count_is_exact: bool
    oldest: OldestView | None


class OrphanedView(View, frozen=True):
    """Active submissions without a job.

    The count is not exact if there are more active submissions than one check examines; successive checks cover all.
    """

    count: int
    count_is_exact: bool
    oldest_id: UUID | None
    oldest_updated_at: datetime | None


class CorruptView(View, frozen=True):
    """Jobs that cannot be decoded, counted up to 1,000, and the ids of the first ten."""

    count: int
    count_is_exact: bool
    job_ids: list[int]


class DrainRateView(View, frozen=True):
    """Submissions that were decided recently. `perSecond` is null if there were none."""

    last_1h: int = msgspec.field(name="last1h")
    last_6h: int = msgspec.field(name="last6h")
    per_second: float | None


class StageView(View, frozen=True):
    """The number of submissions that passed a stage."""

    stage: str
    last_1h: int = msgspec.field(name="last1h")
    last_6h: int = msgspec.field(name="last6h")


class ProcessView(View, frozen=True):
    """A process of this registry. `inFlight` is null unless it is a worker; `ruleset` is null if it uses no rules."""

    id: str
    kind: str
    version: str
    alive: bool
    seen_at: datetime
    in_flight: int | None
    ruleset: str | None


class ChoreView(View, frozen=True):
    """A periodic job. `failures` counts those since its last success."""

    name: str
    every_seconds: float
    last_success_at: datetime | None
    last_duration_ms: float | None
    overdue: bool
    failures: int


class QueuePauseView(View, frozen=True):
    """The reason for a pause of the queue, and when it ends."""

    reason: str
    until: datetime


class SourcesView(View, frozen=True):
    """The freshness of listings: the estimated number of upstream repositories watched, and how many checks fail.

    `oldestSeenAt` is the oldest last successful check. `targetSeconds` is the interval at which each repository should
    be checked, or null if watching is off; an alarm is raised after twice that interval.
    """

    watched: int
    oldest_seen_at: datetime | None
    failing: int
    target_seconds: int | None


class SearchProbesView(View, frozen=True):
    """Self-tests of the search: how many listed skills were searched for, how many were missed, and examples."""

    probed: int
    missed: int
    last_probed_at: datetime | None
    still_missed: int
    examples: list[str]


class DeepScansView(View, frozen=True):
    """The backlog of deep scans, counted up to 1,000, and the number of scan nodes."""

    waiting: int
    oldest_waiting_since: datetime | None
    running: int
    failed_last_1h: int = msgspec.field(name="failedLast1h")
    nodes_alive: int
    nodes: int


class QueueHealthView(View, frozen=True):
    """The state of the queue at one moment. If `degraded` is true, an operator must act; `alarms` say what to do."""

    generated_at: datetime
    degraded: bool
    alarms: list[AlarmView]
    waiting: int
    oldest_waiting: OldestView | None
    oldest_active: OldestView | None
    stuck: StuckCountView
    orphaned: OrphanedView
    corrupt: CorruptView
    drain_rate: DrainRateView
    stages: list[StageView]
    processes: list[ProcessView]
    chores: list[ChoreView]
    paused: QueuePauseView | None
    sources: SourcesView
    search: SearchProbesView
    discovery: DiscoveryView
    judge: JudgeView | None
    deep_scans: DeepScansView


def present_stuck(stuck: Stuck, web_url: str) -> StuckView:
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
    """Return the public part of the health; host names and errors appear only in the logs."""
    facts = health.facts
    pause = facts.pause
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
        drain_rate=msgspec.convert(facts.flow.drain, DrainRateView, from_attributes=True),
        stages=[
            StageView(
                stage=stage.name, last_1h=stage.count(facts.flow.last_1h), last_6h=stage.count(facts.flow.last_6h)
            )
            for stage in STAGES
        ],
        processes=[_present_process(each, health) for each in facts.processes],
        chores=[_present_chore(chore, facts.now) for chore in facts.periodic_jobs],
        paused=QueuePauseView(reason=pause.reason, until=pause.expires_at) if pause else None,
        sources=_present_sources(facts.sources, health.limits.watch_every),
        search=_present_search(facts.search),
        discovery=present_discovery(facts.discovery),
        judge=present_judge(health),
        deep_scans=_present_deep_scans(health),
    )


def short_name(process: SeenProcess) -> str:
    """Return a name that distinguishes processes without revealing their host."""
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
        count=min(facts.stuck.total, COUNT_LIMIT),
        count_is_exact=facts.stuck.total <= COUNT_LIMIT,
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
        count=min(number, COUNT_LIMIT),
        count_is_exact=number <= COUNT_LIMIT,
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


def _present_chore(chore: PeriodicJobRecord, now: datetime) -> ChoreView:
    return ChoreView(
        name=chore.schedule.name,
        every_seconds=chore.schedule.every_seconds,
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
        still_missed=min(record.open, COUNT_LIMIT),
        examples=list(record.examples),
    )


def _present_deep_scans(health: QueueHealth) -> DeepScansView:
    deep = health.facts.deep
    return DeepScansView(
        waiting=min(deep.waiting, COUNT_LIMIT),
        oldest_waiting_since=deep.oldest,
        running=min(deep.running, COUNT_LIMIT),
        failed_last_1h=min(deep.failed, COUNT_LIMIT),
        nodes_alive=len(health.live_nodes),
        nodes=len(health.facts.nodes),
    )


def _aged(number: UUID, state: State, since: datetime, now: datetime) -> OldestView:
    return OldestView(id=number, state=state, age_ms=max(0, round((now - since).total_seconds() * 1000)))


class BulkEnqueueBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """At most 1,000 items with `repoUrl`, `skillName` (2 to 100 characters) and `skillPath` (default `SKILL.md`)."""

    items: Annotated[list[object], msgspec.Meta(max_length=MOST_AT_ONCE)]


class BulkEnqueueView(View, frozen=True):
    """The result of a bulk request: `enqueued`, `skipped` and the number of errors add up to the number of items."""

    ok: bool
    enqueued: int
    skipped: int
    errors: list[str]
    existing: int
    invalid: int
    batch_id: UUID


class PauseBody(Body, frozen=True):
    """The reason for the pause, and its length in seconds."""

    reason: Reason
    ttl_seconds: Annotated[int, msgspec.Meta(ge=1, le=MAX_PAUSE_SECONDS)] = DEFAULT_PAUSE_SECONDS


class PauseView(View, frozen=True):
    """A pause of the queue."""

    reason: str
    paused_by: str
    paused_at: datetime
    expires_at: datetime


def present_pause(pause: Pause) -> PauseView:
    return msgspec.convert(pause, PauseView, from_attributes=True)


class ResumeView(View, frozen=True):
    """The pause that was ended, or null if the queue was not paused."""

    ended: PauseView | None


class IdsBody(Body, frozen=True):
    """The submissions to change, and the reason."""

    ids: Ids
    reason: Reason


class OrderBody(Body, frozen=True):
    """The submissions to move, and the end of the queue to move them to."""

    ids: Ids
    position: QueueEnd


class SkippedView(View, frozen=True):
    """A submission whose state does not allow the action."""

    id: UUID
    state: State


class HandledView(View, frozen=True):
    """The submissions that were changed, those whose state did not allow it, and ids that do not exist.

    `cancelled` counts the submissions that were in progress.
    """

    changed: list[UUID]
    skipped: list[SkippedView]
    missing: list[UUID]
    cancelled: int


class ReprocessBody(Body, frozen=True):
    """Selects all submissions in `states` that match the optional filters."""

    states: Annotated[list[RequeueableState], msgspec.Meta(min_length=1)]
    reason: Reason
    reason_code: Annotated[str, msgspec.Meta(max_length=100, pattern=WITHOUT_NUL)] | None = None
    source: Origin | None = None
    repo_url: RepoUrl | None = None
    before: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_AT_ONCE)] = 500
    dry_run: bool = False


class ReprocessView(View, frozen=True):
    """The number of matches by state. Repeat the request with the same `before` until `remaining` is 0."""

    dry_run: bool
    matched: dict[str, int]
    matched_is_exact: bool
    requeued: int
    remaining: int
    before: datetime
