"""What the registry answers about reviews, as far as the commands read it."""

from uuid import UUID

from assay.cli.registry.responses import DetailRead, FindingRead, Read, SubmissionRead


class AppealRead(Read, frozen=True):
    """What the author says."""

    status: str
    text: str | None
    answer: str | None


class WaitingRead(Read, frozen=True):
    """A row of the queue."""

    submission: SubmissionRead
    age_seconds: int
    top_findings: list[FindingRead]
    appeal: AppealRead | None


class ReviewsRead(Read, frozen=True):
    """A page of the queue."""

    reviews: list[WaitingRead]
    total: int
    total_is_exact: bool
    next_cursor: str | None


class ChangeRead(Read, frozen=True):
    """A file that differs."""

    filename: str
    status: str
    patch: str | None


class LiveRead(Read, frozen=True):
    """The live version."""

    version: str


class ReviewRead(Read, frozen=True):
    """One submission as a reviewer sees it."""

    submission: DetailRead
    version: int
    upstream_moved: bool
    upstream_commit: str | None
    live: LiveRead | None
    changes: list[ChangeRead]
    appeal: AppealRead | None


class DecisionRead(Read, frozen=True):
    """What has become of it."""

    id: UUID
    state: str
    published_skill_name: str | None
    upstream_moved: bool
