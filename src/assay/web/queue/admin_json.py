"""The JSON of the admin routes."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec

from assay.model.submission import Origin, State
from assay.model.text import WITHOUT_NUL
from assay.operations.pause import LONGEST_SECONDS, USUAL_SECONDS
from assay.store.queue.jobs import Place
from assay.web.http.json import View
from assay.web.submissions.json import Body, RepoUrl

MOST_AT_ONCE = 1_000
Said = Annotated[
    str, msgspec.Meta(min_length=1, max_length=500, pattern=WITHOUT_NUL, description="Why; shown in the history.")
]
RequeueableState = Literal["PUBLISHED", "NEEDS_REVIEW", "TIER1_FAILED", "REJECTED", "FAILED", "DEQUEUED", "ON_HOLD"]
Ids = Annotated[list[UUID], msgspec.Meta(min_length=1, max_length=MOST_AT_ONCE)]


class BulkEnqueueBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """At most 1000 items: `repoUrl`, `skillName` (2 to 100 characters) and, if not `SKILL.md`, `skillPath`."""

    items: Annotated[list[object], msgspec.Meta(max_length=MOST_AT_ONCE)]


class BulkEnqueueView(View, frozen=True):
    """`enqueued`, `skipped` and the number of errors add up to the number of items."""

    ok: bool
    enqueued: int
    skipped: int
    errors: list[str]
    existing: int
    invalid: int
    batch_id: UUID


class PauseBody(Body, frozen=True):
    """Why, and for how many seconds."""

    reason: Said
    ttl_seconds: Annotated[int, msgspec.Meta(ge=1, le=LONGEST_SECONDS)] = USUAL_SECONDS


class PauseView(View, frozen=True):
    """A pause of the queue."""

    reason: str
    paused_by: str
    paused_at: datetime
    expires_at: datetime


class ResumeView(View, frozen=True):
    """The pause that was ended; none if the queue was running."""

    ended: PauseView | None


class IdsBody(Body, frozen=True):
    """Which submissions, and why."""

    ids: Ids
    reason: Said


class OrderBody(Body, frozen=True):
    """Which submissions, and where to."""

    ids: Ids
    position: Place


class SkippedView(View, frozen=True):
    """A submission that is in a state in which this cannot be done."""

    id: UUID
    state: State


class HandledView(View, frozen=True):
    """The submissions that were changed, those that could not be, and ids that nobody has."""

    changed: list[UUID]
    skipped: list[SkippedView]
    missing: list[UUID]
    cancelled: int


class ReprocessBody(Body, frozen=True):
    """All in these states, narrowed by what is given besides."""

    states: Annotated[list[RequeueableState], msgspec.Meta(min_length=1)]
    reason: Said
    reason_code: Annotated[str, msgspec.Meta(max_length=100, pattern=WITHOUT_NUL)] | None = None
    source: Origin | None = None
    repo_url: RepoUrl | None = None
    before: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_AT_ONCE)] = 500
    dry_run: bool = False


class ReprocessView(View, frozen=True):
    """What matched, by state; ask again with the same `before` until `remaining` is 0."""

    dry_run: bool
    matched: dict[str, int]
    matched_is_exact: bool
    requeued: int
    remaining: int
    before: datetime
