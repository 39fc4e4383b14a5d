"""The facts about the queue at one moment, from which alarms, health and metrics are derived.

Read with a bounded number of bounded statements, so the cost does not grow with the number of submissions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.deep_scan import DeepTool
from assay.model.job import ENTRYPOINT
from assay.model.submission import ACTIVE, State
from assay.queue.rescue import GRACE, START
from assay.serve.queue.flow import HOUR, QueueFlow, read_flow
from assay.store.discovery.sources import DiscoveryFacts, read_discovery
from assay.store.moderation.security_reports import OldestUnanswered, find_unanswered
from assay.store.operations.llm_usage import JudgeRecord, read_judge_record
from assay.store.operations.periodic_jobs import PeriodicJobRecord, list_periodic_jobs
from assay.store.operations.processes import SeenProcess, list_processes
from assay.store.queue.backlog import OldestSubmission, find_due_since, find_oldest, find_oldest_waiting
from assay.store.queue.held_jobs import list_unreadable_jobs
from assay.store.queue.orphans import Orphan, OrphanWindow, find_orphans
from assay.store.queue.pauses import Pause, read_pause, was_paused
from assay.store.queue.stuck import StuckCount, StuckRow, Thresholds, count_stuck, list_stuck
from assay.store.repositories.call_budgets import count_refused
from assay.store.repositories.upstream import Freshness, read_freshness
from assay.store.scans.deep_scans import DeepBacklog, read_backlog
from assay.store.scans.scan_nodes import ScanNode, list_nodes
from assay.store.skills.probes import ProbeRecord, read_probes
from assay.store.submissions.counts import count_by_state

COUNT_LIMIT = 1_000
ORPHAN_SCAN_LIMIT = 500


@dataclass(frozen=True)
class WatchLimits:
    """The limits beyond which a condition becomes an alarm."""

    stuck: Thresholds
    oldest_waiting: timedelta = timedelta(hours=1)
    alive: timedelta = timedelta(seconds=30)
    # Interval between checks of upstream repositories; None if they are not checked.
    watch_every: timedelta | None = None
    # The tools in use, the longest acceptable wait, and the longest silence of a live node.
    deep_tools: Sequence[DeepTool] = ()
    deep_waiting: timedelta = timedelta(hours=1)
    deep_lease: timedelta = timedelta(minutes=2)

    # The judge's model, if configured, and its daily budget in millionths.
    judge_model: str | None = None
    judge_budget_micros: int | None = None
    # The longest acceptable times for a person to answer.
    report: timedelta = timedelta(hours=24)
    review: timedelta = timedelta(hours=168)
    # Time before its end at which a suppression is reported.
    ending: timedelta = timedelta(days=7)

    @property
    def stall(self) -> timedelta:
        """The time after which a stage that had work and completed nothing has stalled."""
        return 3 * max(self.stuck[state] for state in ACTIVE - {State.RECEIVED})

    @property
    def unseen(self) -> timedelta | None:
        """The time after which an upstream repository was missed: two intervals, and a margin for a busy registry."""
        return 2 * self.watch_every + timedelta(minutes=10) if self.watch_every else None


@dataclass(frozen=True)
class QueueFacts:
    """The state of the queue at one moment. Lists are capped at the limits of this module."""

    now: datetime
    by_state: Mapping[State, int]
    oldest: Mapping[State, OldestSubmission]
    oldest_waiting: OldestSubmission | None
    due_since: datetime | None
    stuck: StuckCount
    most_stuck: StuckRow | None
    orphans: Sequence[Orphan]
    saw_all_orphans: bool
    unreadable_jobs: Sequence[int]
    flow: QueueFlow
    pause: Pause | None
    was_paused: bool
    processes: Sequence[SeenProcess]
    periodic_jobs: Sequence[PeriodicJobRecord]
    sources: Freshness
    search: ProbeRecord = field(default_factory=ProbeRecord)
    refused_tokens: int = 0
    discovery: DiscoveryFacts = field(default_factory=DiscoveryFacts)
    judge: JudgeRecord = field(default_factory=JudgeRecord)
    deep: DeepBacklog = field(default_factory=DeepBacklog)
    nodes: Sequence[ScanNode] = ()
    unanswered: OldestUnanswered = field(default_factory=OldestUnanswered)

    @property
    def waiting(self) -> int:
        """Submissions in RECEIVED, including those that a worker has just claimed and is fetching."""
        return self.by_state[State.RECEIVED]

    @property
    def active(self) -> int:
        """Undecided submissions."""
        return sum(self.by_state[state] for state in ACTIVE)


async def read_facts(db: AsyncConnection, now: datetime, limits: WatchLimits) -> QueueFacts:
    """Read all facts. The connection should be a snapshot, so that they are consistent."""
    window = OrphanWindow(START, now - GRACE, now, ORPHAN_SCAN_LIMIT)
    by_state = await count_by_state(db)
    most_stuck = await list_stuck(db, now=now, thresholds=limits.stuck, after=START, at_most=1)
    return QueueFacts(
        now=now,
        by_state=by_state,
        oldest=await find_oldest(db),
        oldest_waiting=await find_oldest_waiting(db, now),
        due_since=await find_due_since(db, ENTRYPOINT),
        stuck=await count_stuck(db, now=now, thresholds=limits.stuck, at_most=COUNT_LIMIT + 1),
        most_stuck=most_stuck[0] if most_stuck else None,
        orphans=await find_orphans(db, window),
        saw_all_orphans=all(by_state[state] <= ORPHAN_SCAN_LIMIT for state in ACTIVE),
        unreadable_jobs=await list_unreadable_jobs(db, COUNT_LIMIT + 1),
        flow=await read_flow(db, now, limits.stall),
        pause=await read_pause(db),
        was_paused=await was_paused(db, now - limits.stall),
        processes=await list_processes(db),
        periodic_jobs=await list_periodic_jobs(db),
        sources=await read_freshness(db),
        search=await read_probes(db, at_most=COUNT_LIMIT + 1),
        refused_tokens=await count_refused(db),
        discovery=await read_discovery(db),
        judge=await read_judge_record(db, now, limits.judge_model, COUNT_LIMIT + 1),
        deep=await read_backlog(db, limits.deep_tools, since=now - HOUR, at_most=COUNT_LIMIT + 1),
        nodes=await list_nodes(db),
        unanswered=await find_unanswered(db),
    )
