"""The parts of the review API's responses that the commands use."""

from uuid import UUID

from assay.cli.registry.responses import DetailResponse, FindingResponse, RegistryModel, SubmissionResponse


class AppealResponse(RegistryModel, frozen=True):
    status: str
    text: str | None
    answer: str | None


class WaitingResponse(RegistryModel, frozen=True):
    """A submission waiting for review."""

    submission: SubmissionResponse
    age_seconds: int
    top_findings: list[FindingResponse]
    appeal: AppealResponse | None


class ReviewsResponse(RegistryModel, frozen=True):
    """A page of submissions waiting for review."""

    reviews: list[WaitingResponse]
    total: int
    total_is_exact: bool
    next_cursor: str | None


class ChangeResponse(RegistryModel, frozen=True):
    """A file that differs from the live version."""

    filename: str
    status: str
    patch: str | None


class LiveResponse(RegistryModel, frozen=True):
    version: str


class ReviewResponse(RegistryModel, frozen=True):
    """A submission as shown to a reviewer."""

    submission: DetailResponse
    version: int
    upstream_moved: bool
    upstream_commit: str | None
    live: LiveResponse | None
    changes: list[ChangeResponse]
    appeal: AppealResponse | None


class DecisionResponse(RegistryModel, frozen=True):
    """The result of a decision."""

    id: UUID
    state: str
    published_skill_name: str | None
    upstream_moved: bool
