"""What the queue looks like at one moment: everything that alarms, health and metrics are made of.

A bounded number of bounded statements: the same cost with ten submissions waiting and with a million.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.deep_scan import DeepTool
from assay.model.job import ENTRYPOINT
from assay.model.submission import ACTIVE, State
from assay.queue.rescue import BEGINNING, GRACE
from assay.serve.queue.drain import DECIDED, HOUR, SIX_HOURS, Drain
from assay.store.discovery.sources import DiscoveryFacts, read_discovery
from assay.store.moderation.security_reports import Unanswered, find_unanswered
from assay.store.operations.llm_usage import JudgeRecord, read_judge_record
from assay.store.operations.periodic_jobs import ChoreRecord, list_chores
from assay.store.operations.processes import SeenProcess, list_processes
from assay.store.queue.backlog import Standing, find_due_since, find_oldest, find_oldest_waiting, was_paused
from assay.store.queue.held_jobs import list_unreadable_jobs
from assay.store.queue.orphans import Orphan, Window, find_orphans
from assay.store.queue.pauses import Pause, read_pause
from assay.store.queue.stuck import StuckCount, StuckRow, Thresholds, count_stuck, list_stuck
from assay.store.repositories.call_budgets import count_refused
from assay.store.repositories.upstream import Freshness, read_freshness
from assay.store.scans.deep_scans import DeepBacklog, read_backlog
from assay.store.scans.scan_nodes import ScanNode, list_nodes
from assay.store.skills.probes import ProbeRecord, read_probes
from assay.store.submissions.counts import count_arrivals, count_by_state

COUNTED = 1_000
LOOKED_AT = 500
Arrivals = Mapping[State, int]


@dataclass(frozen=True)
class WatchLimits:
    """From when on something is wrong."""

    stuck: Thresholds
    oldest_waiting: timedelta = timedelta(hours=1)
    alive: timedelta = timedelta(seconds=30)
    # How often sources are looked at; None if nobody does.
    watch_every: timedelta | None = None
    # Which tools are waited for, how long is too long, and how long a node may be silent.
    deep_tools: Sequence[DeepTool] = ()
    deep_waiting: timedelta = timedelta(hours=1)
    deep_lease: timedelta = timedelta(minutes=2)

    # The model of the judge, if there is one, and what it may cost a day, in millionths.
    judge_model: str | None = None
    judge_budget_micros: int | None = None
    # How long people may take to answer.
    report: timedelta = timedelta(hours=24)
    review: timedelta = timedelta(hours=168)
    # So long before a suppression ends it is told.
    ending: timedelta = timedelta(days=7)

    @property
    def stall(self) -> timedelta:
        """A stage that had work for so long and brought nothing out has stalled."""
        return 3 * max(self.stuck[state] for state in ACTIVE - {State.RECEIVED})

    @property
    def unseen(self) -> timedelta | None:
        """A source that was not seen for so long is forgotten: two turns, and some time for a busy registry."""
        return 2 * self.watch_every + timedelta(minutes=10) if self.watch_every else None


@dataclass(frozen=True)
class Flow:
    """How many submissions have come into each state lately; `stall` is the window in which a stage must move."""

    last_1h: Arrivals
    last_6h: Arrivals
    stall: Arrivals

    @property
    def drain(self) -> Drain:
        """How many were decided."""
        return Drain(*(sum(arrivals[state] for state in DECIDED) for arrivals in (self.last_1h, self.last_6h)))


@dataclass(frozen=True)
class QueueFacts:
    """The queue at one moment. Lists are cut off where the numbers say so."""

    now: datetime
    by_state: Mapping[State, int]
    oldest: Mapping[State, Standing]
    oldest_waiting: Standing | None
    due_since: datetime | None
    stuck: StuckCount
    most_stuck: StuckRow | None
    orphans: Sequence[Orphan]
    saw_all_orphans: bool
    unreadable_jobs: Sequence[int]
    flow: Flow
    pause: Pause | None
    was_paused: bool
    processes: Sequence[SeenProcess]
    chores: Sequence[ChoreRecord]
    sources: Freshness
    search: ProbeRecord = field(default_factory=ProbeRecord)
    refused_tokens: int = 0
    discovery: DiscoveryFacts = field(default_factory=DiscoveryFacts)
    judge: JudgeRecord = field(default_factory=JudgeRecord)
    deep: DeepBacklog = field(default_factory=DeepBacklog)
    nodes: Sequence[ScanNode] = ()
    unanswered: Unanswered = field(default_factory=Unanswered)

    @property
    def waiting(self) -> int:
        """Submissions that wait for a worker, or for the one that has just taken them to fetch."""
        return self.by_state[State.RECEIVED]

    @property
    def active(self) -> int:
        """Submissions that are not decided."""
        return sum(self.by_state[state] for state in ACTIVE)


async def read_facts(db: AsyncConnection, now: datetime, limits: WatchLimits) -> QueueFacts:
    """The connection should be one snapshot, so that the facts cannot contradict each other."""
    window = Window(BEGINNING, now - GRACE, now, LOOKED_AT)
    by_state = await count_by_state(db)
    most_stuck = await list_stuck(db, now=now, thresholds=limits.stuck, after=BEGINNING, at_most=1)
    return QueueFacts(
        now=now,
        by_state=by_state,
        oldest=await find_oldest(db),
        oldest_waiting=await find_oldest_waiting(db, now),
        due_since=await find_due_since(db, ENTRYPOINT),
        stuck=await count_stuck(db, now=now, thresholds=limits.stuck, at_most=COUNTED + 1),
        most_stuck=most_stuck[0] if most_stuck else None,
        orphans=await find_orphans(db, window),
        saw_all_orphans=all(by_state[state] <= LOOKED_AT for state in ACTIVE),
        unreadable_jobs=await list_unreadable_jobs(db, COUNTED + 1),
        flow=await _read_flow(db, now, limits.stall),
        pause=await read_pause(db),
        was_paused=await was_paused(db, now - limits.stall),
        processes=await list_processes(db),
        chores=await list_chores(db),
        sources=await read_freshness(db),
        search=await read_probes(db, at_most=COUNTED + 1),
        refused_tokens=await count_refused(db),
        discovery=await read_discovery(db),
        judge=await read_judge_record(db, now, limits.judge_model, COUNTED + 1),
        deep=await read_backlog(db, limits.deep_tools, since=now - HOUR, at_most=COUNTED + 1),
        nodes=await list_nodes(db),
        unanswered=await find_unanswered(db),
    )


async def _read_flow(db: AsyncConnection, now: datetime, stall: timedelta) -> Flow:
    return Flow(
        last_1h=await count_arrivals(db, now - HOUR),
        last_6h=await count_arrivals(db, now - SIX_HOURS),
        stall=await count_arrivals(db, now - stall),
    )
