"""JSON of reviews, suppressions and the blocklist. Clients of the previous platform read the same blocklist keys."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec

from assay.model.blocklist import BlocklistEntry, Threat
from assay.model.finding import Severity
from assay.model.moderation import HumanDecisions, ReviewDecision, Suppression, SuppressionScope
from assay.model.submission import State
from assay.serve.moderation.reviews import PendingReview, ReviewDetail, ReviewPage
from assay.serve.versions.compare import FileChange
from assay.web.findings.json import FindingView, present_capabilities, present_finding
from assay.web.http.json import Body, View
from assay.web.http.links import repository_url_of_key
from assay.web.submissions.json import (
    AppealView,
    SubmissionDetailView,
    SubmissionView,
    present_appeal,
    present_detail,
    present_submission,
)
from assay.web.versions.json import CapabilityChangesView, FileChangeView, FileView, PublicReason, present_change

ReviewVersion = Annotated[
    int,
    msgspec.Meta(
        ge=1,
        le=2**31 - 1,
        description="The `version` of the review that the decision is based on; 409 if it has changed since.",
    ),
]


class WaitingView(View, frozen=True):
    """A submission that waits for a reviewer, with its age and its most severe findings."""

    submission: SubmissionView
    version: int
    age_seconds: int
    top_findings: list[FindingView]
    appeal: AppealView | None


class ReviewPageView(View, frozen=True):
    """A page of the review queue, oldest first."""

    reviews: list[WaitingView]
    total: int
    total_is_exact: bool
    next_cursor: str | None
    generated_at: datetime


class ReviewView(View, frozen=True):
    """A reviewer's decision about this content."""

    ruling: ReviewDecision
    reason: str
    reviewer: str
    content_digest: str
    at: datetime


class SuppressionView(View, frozen=True):
    """A finding that is ignored until a date, or was until `endedAt`."""

    id: UUID
    scope: SuppressionScope
    rule_id: str
    file: str
    skill_path: str
    content_digest: str
    until: datetime
    reason: str
    by: str
    created_at: datetime
    ended_at: datetime | None
    ended_by: str | None
    ended_reason: str | None


class LiveView(View, frozen=True):
    """The version that is live while the submission waits."""

    version: str
    content_digest: str
    commit: str


class ReviewDetailView(View, frozen=True):
    """Everything that a decision needs. `changes` compares with the live version; without one it lists all files.

    If `upstreamMoved` is true, the repository has newer files; an approval applies to the content that was examined.
    If `changesAreKept` is false, the examined files are no longer stored.
    """

    submission: SubmissionDetailView
    version: int
    content_digest: str | None
    commit: str | None
    upstream_commit: str | None
    upstream_moved: bool
    files: list[FileView]
    live: LiveView | None
    changes: list[FileChangeView]
    changes_are_kept: bool
    capabilities: CapabilityChangesView
    appeal: AppealView | None
    suppressions: list[SuppressionView]
    reviews: list[ReviewView]


class DecisionBody(Body, frozen=True):
    """The reason for the decision, and the version of the review that it is based on."""

    reason: PublicReason
    version: ReviewVersion


class DecisionView(View, frozen=True):
    """The submission after the decision. If `upstreamMoved` is true, the repository has newer files to examine."""

    id: UUID
    state: State
    published_skill_name: str | None
    content_digest: str
    upstream_moved: bool


def present_page(page: ReviewPage, web_url: str) -> ReviewPageView:
    return ReviewPageView(
        reviews=[_present_waiting(each, web_url) for each in page.waiting],
        total=page.total,
        total_is_exact=page.total_is_exact,
        next_cursor=page.next_cursor,
        generated_at=page.as_of,
    )


def present_review(
    review: ReviewDetail, changes: list[FileChange] | None, web_url: str, ruleset: str
) -> ReviewDetailView:
    """Present a review; scans by another ruleset than this one are marked as stale."""
    submission = review.submission
    return ReviewDetailView(
        submission=present_detail(review.detail, web_url, ruleset, mine=False),
        version=submission.version,
        content_digest=submission.content_digest,
        commit=review.commit,
        upstream_commit=review.upstream_commit,
        upstream_moved=review.upstream_commit is not None,
        files=msgspec.convert(review.files, list[FileView], from_attributes=True),
        live=msgspec.convert(review.live, LiveView, from_attributes=True) if review.live else None,
        changes=[present_change(each) for each in changes or ()],
        changes_are_kept=changes is not None,
        capabilities=CapabilityChangesView(
            added=present_capabilities(review.gained), removed=present_capabilities(review.lost)
        ),
        appeal=present_appeal(review.appeal, with_text=True) if review.appeal else None,
        suppressions=[present_suppression(each) for each in review.decisions.suppressions],
        reviews=msgspec.convert(review.reviews, list[ReviewView], from_attributes=True),
    )


def present_suppression(suppression: Suppression) -> SuppressionView:
    return msgspec.convert(suppression, SuppressionView, from_attributes=True)


def _present_waiting(each: PendingReview, web_url: str) -> WaitingView:
    return WaitingView(
        submission=present_submission(each.submission, web_url),
        version=each.submission.version,
        age_seconds=round(each.age.total_seconds()),
        top_findings=[present_finding(finding, HumanDecisions()) for finding in each.worst],
        appeal=present_appeal(each.appeal, with_text=True) if each.appeal else None,
    )


SOURCE_REGISTRY = "assay"
Digest = Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}$")]
EvidenceUrl = Annotated[str, msgspec.Meta(max_length=500, pattern="^https?://[!-~]+$")]


class EntryView(View, frozen=True):
    """A blocklist entry. It applies to specific content (`contentHash`), a repository (`sourceUrl`), one skill of it
    (`sourceUrl` and `skillName`), or a skill name in every repository (`everywhere`).
    """

    id: UUID
    skill_name: str | None
    source_url: str | None
    source_registry: str
    content_hash: str | None
    everywhere: bool
    threat_type: Threat
    severity: Severity
    reason: str
    evidence_urls: list[str]
    discovered_at: datetime


class BlocklistView(View, frozen=True):
    """All entries in force. Read the changes after `serial` to follow the list."""

    entries: list[EntryView]
    count: int
    last_updated: datetime | None
    serial: int


class BlocklistChangeView(View, frozen=True):
    """An entry that was added or lifted."""

    serial: int
    kind: str
    data: dict[str, object]
    created_at: datetime


class BlocklistChangesView(View, frozen=True):
    """Changes in order. Repeat the request with `since` set to `nextSince`."""

    changes: list[BlocklistChangeView]
    next_since: int


class RefusalView(View, frozen=True):
    """The refusal of a skill by this registry."""

    skill_name: str
    state: State
    reason: str | None
    score: int | None
    rejected_at: datetime | None
    repo_url: str | None


class CheckedView(View, frozen=True):
    """The blocklist entry that applies to a skill, and its refusal by this registry."""

    blocked: bool
    entry: EntryView | None
    rejected: bool
    rejection: RefusalView | None
    tainted: bool
    taint_reason: str | None


class BlockBody(Body, frozen=True):
    """The target of the entry: specific content, a repository, one skill of it, or a name with `everywhere` set."""

    threat_type: Threat
    severity: Severity
    reason: PublicReason
    content_digest: Digest | None = None
    repository: Annotated[str, msgspec.Meta(max_length=201, pattern=r"^[\w.-]+/[\w.-]+$")] | None = None
    skill_name: Annotated[str, msgspec.Meta(max_length=100)] | None = None
    everywhere: bool = False
    evidence_urls: Annotated[tuple[EvidenceUrl, ...], msgspec.Meta(max_length=20)] = ()


class BlockedView(View, frozen=True):
    """The new entry, and the listings that it blocked or whose live version changed because of it."""

    entry: EntryView
    skills: list[str]


class LiftBlockBody(Body, frozen=True):
    """The reason for lifting the entry."""

    reason: PublicReason


class LiftedView(View, frozen=True):
    """The listings that are published again."""

    skills: list[str]


def present_entry(entry: BlocklistEntry, web_url: str) -> EntryView:
    target = entry.target
    return EntryView(
        id=entry.id,
        skill_name=target.skill_name,
        source_url=repository_url_of_key(target.repository, web_url) if target.repository else None,
        source_registry=SOURCE_REGISTRY,
        content_hash=target.content_digest,
        everywhere=target.everywhere,
        threat_type=entry.threat,
        severity=entry.severity,
        reason=entry.reason,
        evidence_urls=list(entry.evidence_urls),
        discovered_at=entry.discovered_at,
    )
