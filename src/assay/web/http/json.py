"""The JSON of the API, typed: one definition is validation, encoding and documentation."""

from datetime import datetime
from uuid import UUID

import msgspec

from assay.model.appeal import AppealStatus
from assay.model.finding import Region, Severity
from assay.model.judgement import Ruling
from assay.model.skill import Method, Tier, TrustTier
from assay.model.submission import Category, Origin, State
from assay.model.verdict import Outcome


class View(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Keys are camelCase on the wire."""


class ReasonView(View, frozen=True):
    """Why, and what to do next."""

    code: str
    message: str
    next_step: str | None


class SubmissionView(View, frozen=True):
    """A submission in a list."""

    id: UUID
    repo_url: str | None
    repository: str
    skill_name: str
    skill_path: str
    state: State
    category: Category
    source: Origin
    score: int | None
    attempts: int
    reason: ReasonView | None
    created_at: datetime
    updated_at: datetime


class SubmissionPageView(View, frozen=True):
    """A page of submissions, all of one moment. If `totalIsExact` is false, there are `total` or more.

    `queuePositions` has those of the page that wait; 10,001 stands for all positions from there on.
    """

    submissions: list[SubmissionView]
    total: int
    total_is_exact: bool
    next_cursor: str | None
    queue_positions: dict[str, int]
    generated_at: datetime


class PositionView(View, frozen=True):
    """1 is next; if not exact, the position and the estimate are at least that. An unknown estimate is null."""

    position: int
    position_is_exact: bool
    eta_seconds: int | None


class PositionsView(View, frozen=True):
    """Positions by id; what does not wait is left out. `waiting` counts all that wait."""

    positions: dict[str, PositionView]
    waiting: int
    generated_at: datetime


class EventView(View, frozen=True):
    """One change of state."""

    from_state: State | None
    to_state: State
    trigger: str
    actor: str
    metadata: dict[str, object]
    created_at: datetime


class SuppressedView(View, frozen=True):
    """Why a finding does not count, who said so, and until when."""

    until: datetime
    by: str
    reason: str


class FindingView(View, frozen=True):
    """What a rule saw, and where. `region` is what the line stands in; null where a whole file or skill is meant."""

    rule_id: str
    family: str
    severity: Severity
    confidence: float
    file: str
    line: int
    excerpt: str
    message: str
    remediation: str
    region: Region | None
    suppressed: SuppressedView | None


class CapabilitiesView(View, frozen=True):
    """What the skill reaches for, as far as its files say; sorted, and at most 200 of each kind.

    Hosts that it names, programs that it runs, environment variables that it reads, files outside its own folder, and
    tools that it asks its agent for.
    """

    hosts: list[str]
    programs: list[str]
    environment: list[str]
    outside_files: list[str]
    tools: list[str]


class RulingView(View, frozen=True):
    """What the judge says to a finding of the static scan."""

    rule_id: str
    file: str
    line: int
    ruling: Ruling
    reason: str


class CostView(View, frozen=True):
    """What answers took: tokens, and money in the unit of the registry's prices."""

    prompt_tokens: int
    completion_tokens: int
    cost: float


class ScanView(View, frozen=True):
    """One scan of the content. `outcome` ERROR is a scanner that failed, not a verdict, and `problem` says how.

    A `stale` verdict is one of earlier rules: the content will be looked at again. A judge (tier 2) has the `model`
    that answered, what it cost, and its `rulings` on what the static scan found; its `ruleset` names its questions.
    """

    tier: int
    engine: str
    ruleset: str
    outcome: Outcome
    score: int | None
    path: str | None
    duration_ms: float
    created_at: datetime
    capabilities: CapabilitiesView
    findings: list[FindingView]
    stale: bool
    model: str | None
    cost: CostView | None
    rulings: list[RulingView]
    problem: str | None


class TimingsView(View, frozen=True):
    """When each stage began and how long it took."""

    received_at: datetime
    scanning_at: datetime | None
    decided_at: datetime | None
    ms_in_received: int
    ms_in_scanning: int | None
    total_ms: int


class AppealView(View, frozen=True):
    """What its author has said against the refusal of these bytes; the text is for its author and for reviewers."""

    id: UUID
    status: AppealStatus
    created_at: datetime
    text: str | None
    answer: str | None
    answered_at: datetime | None


class SubmissionDetailView(SubmissionView, frozen=True):
    """A submission with everything that happened to it, and what to do next.

    Only what waits has a position; `waitingUntil` is when its time comes, if that is later than now.
    """

    position: int | None
    position_is_exact: bool | None
    eta_seconds: int | None
    waiting_until: datetime | None
    next_step: str
    mine: bool
    content_digest: str | None
    published_skill_name: str | None
    state_history: list[EventView]
    stage_timings: TimingsView
    scan_results: list[ScanView]
    appeal: AppealView | None


class StatsView(View, frozen=True):
    """The numbers of the queue, all of the same moment."""

    total: int
    active: int
    published: int
    rejected: int
    review: int
    failed: int
    blocked: int
    on_hold: int
    by_state: dict[str, int]
    skills: int
    generated_at: datetime


class SkillView(View, frozen=True):
    """A listing."""

    id: UUID
    name: str
    display_name: str
    description: str
    author: str
    repo_url: str | None
    owner_slug: str
    repo_slug: str
    skill_slug: str
    skill_path: str
    license: str | None
    cert_tier: Tier
    cert_method: Method
    cert_score: int
    certified_at: datetime
    trust_score: int
    trust_tier: TrustTier
    current_version: str
    content_digest: str
    commit: str
    github_stars: int | None
    created_at: datetime
    updated_at: datetime


class FileView(View, frozen=True):
    """A file of a version."""

    path: str
    size: int
    sha256: str


class ChangeView(View, frozen=True):
    """One entry of the change feed."""

    serial: int
    kind: str
    skill_id: UUID | None
    data: dict[str, object]
    created_at: datetime


class ChangesView(View, frozen=True):
    """Changes of a registry in order; ask again with `since` = `nextSince`, at once if `hasMore`."""

    registry: str
    since: int
    changes: list[ChangeView]
    next_since: int
    has_more: bool


class CheckView(View, frozen=True):
    """One condition of readiness."""

    name: str
    ok: bool
    detail: str


class ReadinessView(View, frozen=True):
    """Whether this process can do its work."""

    ready: bool
    checks: list[CheckView]


class KeyView(View, frozen=True):
    """The public half of a key: `ed25519` signs hallmarks and answers, `ecdsa-p256` signs `skill.oms.sig`.

    What a retired key has signed stays good.
    """

    id: str
    public_key: str
    algorithm: str
    created_at: datetime
    retired_at: datetime | None


class KeysView(View, frozen=True):
    """All keys that have ever signed here, oldest first."""

    keys: list[KeyView]


class ProblemView(msgspec.Struct, frozen=True):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    code: str
    detail: str
