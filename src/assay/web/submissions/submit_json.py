"""JSON of submitting: requests, admissions, batches, and the skills found in a repository."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from litestar.datastructures import UploadFile
from litestar.status_codes import HTTP_200_OK, HTTP_201_CREATED

from assay.model.errors import Invalid
from assay.model.submission import STATE_GROUPS, State, StateGroup, Submission
from assay.submit.admission import Admission, Admitted
from assay.submit.bulk import MAX_BATCH_ITEMS, Batch, Result
from assay.submit.repository_requests import KnownSkill
from assay.web.http.json import Body, View

LARGEST_BATCH_BYTES = 2 * 1024 * 1024
PENDING = STATE_GROUPS[StateGroup.ACTIVE] | STATE_GROUPS[StateGroup.REVIEW]
VERIFIED = STATE_GROUPS[StateGroup.PUBLISHED]
RepoUrl = Annotated[
    str,
    msgspec.Meta(max_length=500, description="The repository, such as `https://github.com/owner/repository`."),
]
SkillName = Annotated[str, msgspec.Meta(max_length=200)]
SkillPath = Annotated[str, msgspec.Meta(max_length=500)]


class SkillBody(Body, frozen=True):
    """A skill of the repository, as returned by `discover`."""

    name: SkillName | None = None
    path: SkillPath | None = None


Skills = Annotated[list[SkillBody], msgspec.Meta(min_length=1, max_length=MAX_BATCH_ITEMS)]


class SubmitBody(Body, frozen=True):
    """One skill (`skillName` or `skillPath`), several (`skills`), or all skills of a repository (`repoUrl` alone)."""

    repo_url: RepoUrl
    skill_name: SkillName | None = None
    skill_path: SkillPath | None = None
    skills: Skills | None = None
    source: Annotated[
        Literal["api", "web", "cli", "cli-submit", "cli-auto"], msgspec.Meta(description="The kind of client.")
    ] = "api"
    email: (
        Annotated[str, msgspec.Meta(max_length=320, description="Accepted from older clients and discarded.")] | None
    ) = None


class UploadBody(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A zip or tar.gz archive of one skill folder. `namespace` defaults to your own."""

    archive: UploadFile
    skill_name: str | None = None
    namespace: str | None = None


class ItemBody(Body, frozen=True):
    """One skill of any repository."""

    repo_url: RepoUrl
    skill_name: SkillName | None = None
    skill_path: SkillPath | None = None


class BulkBody(Body, frozen=True):
    """Either `repoUrl` with `skills`, or `items` from several repositories."""

    repo_url: RepoUrl | None = None
    skills: Skills | None = None
    items: Annotated[list[ItemBody], msgspec.Meta(min_length=1, max_length=MAX_BATCH_ITEMS)] | None = None


class DiscoverBody(Body, frozen=True):
    """The repository to search for skills."""

    repo_url: RepoUrl


class ItemOutcome(StrEnum):
    CREATED = "created"
    REOPENED = "reopened"
    DUPLICATE = "duplicate"
    BLOCKED = "blocked"
    ERROR = "error"


class ItemView(View, frozen=True):
    """The result of one item: its submission, or `code` and `detail` of an error."""

    index: int
    outcome: ItemOutcome
    id: UUID | None = None
    state: State | None = None
    skill_name: str | None = None
    skill_path: str | None = None
    already_verified: bool = False
    code: str | None = None
    detail: str | None = None


class BatchView(View, frozen=True):
    """The results of all items. The counts add up to `total`."""

    batch_id: UUID
    total: int
    created: int
    reopened: int
    duplicates: int
    blocked: int
    errors: int
    results: list[ItemView]


class AcceptedView(View, frozen=True):
    """The submission of a request. If it had several skills, this is the first one and `batch` has all."""

    id: UUID
    state: State
    created_at: datetime
    duplicate: bool
    already_verified: bool
    blocked: bool
    skill_id: UUID | None
    status_url: str
    batch: BatchView | None = None


class SkillStatus(StrEnum):
    NEW = "new"
    PENDING = "pending"
    VERIFIED = "verified"
    REJECTED = "rejected"


class DiscoveredView(View, frozen=True):
    """A skill of the repository. `state` and `submissionId` are null if it was never submitted."""

    name: str
    path: str
    status: SkillStatus
    state: State | None
    submission_id: UUID | None


class LeftOutView(View, frozen=True):
    """A folder that cannot be submitted, and why."""

    path: str
    why: str


class DiscoverView(View, frozen=True):
    """The skills of a repository at its newest commit."""

    repo_url: str
    repository: str
    commit: str
    skills: list[DiscoveredView]
    left_out: list[LeftOutView]


def present_accepted(admitted: Admitted, base_url: str, batch: BatchView | None = None) -> tuple[int, AcceptedView]:
    """Return the HTTP status and the body for an admission: 201 if anything is new, else 200."""
    submission = admitted.submission
    view = AcceptedView.of(
        submission,
        duplicate=admitted.admission is Admission.DUPLICATE,
        already_verified=admitted.was_published,
        blocked=admitted.admission is Admission.BLOCKED,
        status_url=f"{base_url}/submissions/{submission.id}",
        batch=batch,
    )
    is_new = batch.created > 0 if batch else admitted.admission is Admission.CREATED
    return (HTTP_201_CREATED if is_new else HTTP_200_OK), view


def present_accepted_batch(batch: Batch, base_url: str) -> tuple[int, AcceptedView]:
    """Return the status and body of the first admitted item; raise the first error if none was admitted."""
    first = next((each for each in batch.results if isinstance(each, Admitted)), None)
    if first is None:
        index, error = batch.errors[0]
        raise Invalid(f"skills[{index}]: {error.message}", code=error.code)
    return present_accepted(first, base_url, present_batch(batch))


def present_batch(batch: Batch) -> BatchView:
    return BatchView(
        batch_id=batch.id,
        total=len(batch.results),
        created=batch.count(Admission.CREATED),
        reopened=batch.count(Admission.REOPENED),
        duplicates=batch.count(Admission.DUPLICATE),
        blocked=batch.count(Admission.BLOCKED),
        errors=len(batch.errors),
        results=[_present_item(index, each) for index, each in enumerate(batch.results)],
    )


def present_discovered(skill: KnownSkill) -> DiscoveredView:
    submission = skill.submission
    return DiscoveredView.of(
        skill,
        status=_status(submission),
        state=submission.state if submission else None,
        submission_id=submission.id if submission else None,
    )


def _present_item(index: int, result: Result) -> ItemView:
    if isinstance(result, Admitted):
        return ItemView.of(
            result.submission,
            index=index,
            outcome=ItemOutcome(result.admission.value),
            already_verified=result.was_published,
            code=None,
            detail=None,
        )
    return ItemView(index=index, outcome=ItemOutcome.ERROR, code=result.code, detail=result.message)


def _status(submission: Submission | None) -> SkillStatus:
    if submission is None:
        return SkillStatus.NEW
    if submission.state in VERIFIED:
        return SkillStatus.VERIFIED
    return SkillStatus.PENDING if submission.state in PENDING else SkillStatus.REJECTED
