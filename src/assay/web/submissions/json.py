"""The JSON of requests and answers about many skills at once."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

import msgspec

from assay.model.submission import State
from assay.submit.bulk import MOST_ITEMS
from assay.web.http.json import View

LARGEST_REQUEST_BYTES = 64 * 1024
LARGEST_BATCH_BYTES = 2 * 1024 * 1024
RepoUrl = Annotated[str, msgspec.Meta(max_length=500, description="`https://github.com/owner/repository`")]
SkillName = Annotated[str, msgspec.Meta(max_length=200)]
SkillPath = Annotated[str, msgspec.Meta(max_length=500)]


class Body(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What a client sends: keys are camelCase, and a key that is not known is an error."""


class SkillBody(Body, frozen=True):
    """One skill of the repository, as `discover` answers it."""

    name: SkillName | None = None
    path: SkillPath | None = None


Skills = Annotated[list[SkillBody], msgspec.Meta(min_length=1, max_length=MOST_ITEMS)]


class ItemBody(Body, frozen=True):
    """One skill of some repository."""

    repo_url: RepoUrl
    skill_name: SkillName | None = None
    skill_path: SkillPath | None = None


class BulkBody(Body, frozen=True):
    """Either `repoUrl` with `skills`, or `items` of many repositories."""

    repo_url: RepoUrl | None = None
    skills: Skills | None = None
    items: Annotated[list[ItemBody], msgspec.Meta(min_length=1, max_length=MOST_ITEMS)] | None = None


class DiscoverBody(Body, frozen=True):
    """The repository to look into."""

    repo_url: RepoUrl


class ItemOutcome(StrEnum):
    """What became of an item."""

    CREATED = "created"
    REOPENED = "reopened"
    DUPLICATE = "duplicate"
    BLOCKED = "blocked"
    ERROR = "error"


class ItemView(View, frozen=True):
    """What became of one item: the submission that stands for it, or why there is none."""

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
    """What became of all items; the counts add up to `total`."""

    batch_id: UUID
    total: int
    created: int
    reopened: int
    duplicates: int
    blocked: int
    errors: int
    results: list[ItemView]


class AcceptedView(View, frozen=True):
    """The answer to a submission. Of several skills the first one speaks; `batch` has all of them."""

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
    """What the registry thinks of a skill of the repository."""

    NEW = "new"
    PENDING = "pending"
    VERIFIED = "verified"
    REJECTED = "rejected"


class DiscoveredView(View, frozen=True):
    """A skill of the repository; `state` and `submissionId` if it was submitted before."""

    name: str
    path: str
    status: SkillStatus
    state: State | None
    submission_id: UUID | None


class LeftOutView(View, frozen=True):
    """What is not submitted, and why."""

    path: str
    why: str


class DiscoverView(View, frozen=True):
    """The skills of a repository at its newest commit."""

    repo_url: str
    repository: str
    commit: str
    skills: list[DiscoveredView]
    left_out: list[LeftOutView]
