"""The JSON of the queue's health and of stuck submissions."""

from datetime import datetime
from uuid import UUID

import msgspec

from assay.model.submission import State
from assay.serve.operations.alarm import Code
from assay.serve.queue.stuck import Why
from assay.web.discovery.json import DiscoveryView
from assay.web.http.json import View
from assay.web.scans.judge_json import JudgeView


class StuckView(View, frozen=True):
    """A submission that does not move, for how long, and why."""

    id: UUID
    state: State
    repo_url: str | None
    skill_name: str
    skill_path: str
    updated_at: datetime
    stuck_for_ms: int
    why: Why


class StuckPageView(View, frozen=True):
    """A page of stuck submissions, longest in their state first."""

    stuck: list[StuckView]
    next_cursor: str | None
    generated_at: datetime


class AlarmView(View, frozen=True):
    """A condition that holds: what is wrong, what to do, and since when it is known."""

    code: Code
    subject: str | None
    message: str
    since: datetime


class OldestView(View, frozen=True):
    """A submission, and for how long it has been where it is."""

    id: UUID
    state: State
    age_ms: int


class StuckCountView(View, frozen=True):
    """How many are stuck, up to 1000, and the one that has been so longest."""

    count: int
    count_is_exact: bool
    oldest: OldestView | None


class OrphanedView(View, frozen=True):
    """Active submissions without a job. Not exact: more wait than were looked at; all are looked at in turn."""

    count: int
    count_is_exact: bool
    oldest_id: UUID | None
    oldest_updated_at: datetime | None


class CorruptView(View, frozen=True):
    """Jobs that cannot be read, up to 1000, and the first few of them by their number in the queue."""

    count: int
    count_is_exact: bool
    job_ids: list[int]


class DrainRateView(View, frozen=True):
    """Submissions decided lately; `perSecond` is null if there were none."""

    last_1h: int = msgspec.field(name="last1h")
    last_6h: int = msgspec.field(name="last6h")
    per_second: float | None


class StageView(View, frozen=True):
    """How many submissions came through a stage."""

    stage: str
    last_1h: int = msgspec.field(name="last1h")
    last_6h: int = msgspec.field(name="last6h")


class ProcessView(View, frozen=True):
    """A process of this registry; `inFlight` is null for those that take no jobs, and `ruleset` for those that need no
    rules.
    """

    id: str
    kind: str
    version: str
    alive: bool
    seen_at: datetime
    in_flight: int | None
    ruleset: str | None


class ChoreView(View, frozen=True):
    """A piece of periodic work; `failures` are those since it last succeeded."""

    name: str
    every_seconds: float
    last_success_at: datetime | None
    last_duration_ms: float | None
    overdue: bool
    failures: int


class QueuePauseView(View, frozen=True):
    """Why nothing is claimed, and until when."""

    reason: str
    until: datetime


class SourcesView(View, frozen=True):
    """How fresh the listings are: about so many sources are watched, the longest unseen since then, so many in vain.

    `targetSeconds` is how often each is to be looked at, null if nobody does; twice as long raises an alarm.
    """

    watched: int
    oldest_seen_at: datetime | None
    failing: int
    target_seconds: int | None


class SearchProbesView(View, frozen=True):
    """The registry searches for its own skills: how often, how often in vain, and what it still does not find."""

    probed: int
    missed: int
    last_probed_at: datetime | None
    still_missed: int
    examples: list[str]


class DeepScansView(View, frozen=True):
    """Scans by external tools: how many wait (up to 1000) and since when, and how many nodes are alive."""

    waiting: int
    oldest_waiting_since: datetime | None
    running: int
    failed_last_1h: int = msgspec.field(name="failedLast1h")
    nodes_alive: int
    nodes: int


class QueueHealthView(View, frozen=True):
    """The queue at one moment. `degraded`: somebody should do something, and `alarms` say what."""

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
