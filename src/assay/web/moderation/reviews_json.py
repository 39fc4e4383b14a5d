"""The JSON of reviews."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec

from assay.model.human_decisions import Said
from assay.model.review import Review, Ruling
from assay.model.submission import State
from assay.model.suppression import Scope, Suppression
from assay.serve.moderation.reviews import ReviewDetail, ReviewPage, Waiting
from assay.serve.versions.compare import FileChange
from assay.web.http.json import AppealView, FileView, FindingView, SubmissionDetailView, SubmissionView, View
from assay.web.http.present import (
    present_appeal,
    present_capabilities,
    present_detail,
    present_finding,
    present_submission,
)
from assay.web.submissions.json import Body
from assay.web.versions.json import CapabilityChangesView, FileChangeView, Why
from assay.web.versions.present import present_change

Seen = Annotated[
    int, msgspec.Meta(ge=1, le=2**31 - 1, description="`version` of the review that you looked at; 409 if it changed.")
]


class WaitingView(View, frozen=True):
    """One submission that waits for a person: for how long, and its gravest findings. Its `reason` says why."""

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
    """What a reviewer has decided about these bytes."""

    ruling: Ruling
    reason: str
    reviewer: str
    content_digest: str
    at: datetime


class SuppressionView(View, frozen=True):
    """A finding that does not count until a date, or did not until it `endedAt`."""

    id: UUID
    scope: Scope
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
    """The version that is live while this one waits."""

    version: str
    content_digest: str
    commit: str


class ReviewDetailView(View, frozen=True):
    """Everything that a decision needs. `changes` are against the live version, or all files if there is none.

    `upstreamMoved` says that the source has other files by now: what is approved are the bytes that were examined.
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
    """Why, and what was looked at."""

    reason: Why
    version: Seen


class DecisionView(View, frozen=True):
    """What has become of it. `upstreamMoved` says that a newer state of the source waits to be looked at."""

    id: UUID
    state: State
    published_skill_name: str | None
    content_digest: str
    upstream_moved: bool


def present_page(page: ReviewPage, web_url: str) -> ReviewPageView:
    """A page of the queue."""
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
    """One, with everything; its scans are held against the ruleset of now."""
    submission, live = review.submission, review.live
    return ReviewDetailView(
        submission=present_detail(review.detail, web_url, ruleset, mine=False),
        version=submission.version,
        content_digest=submission.content_digest,
        commit=review.commit,
        upstream_commit=review.upstream_commit,
        upstream_moved=review.upstream_commit is not None,
        files=[FileView(path=each.path, size=each.size, sha256=each.sha256) for each in review.files],
        live=LiveView(version=live.version, content_digest=live.content_digest, commit=live.commit) if live else None,
        changes=[present_change(each) for each in changes or ()],
        changes_are_kept=changes is not None,
        capabilities=CapabilityChangesView(
            added=present_capabilities(review.gained), removed=present_capabilities(review.lost)
        ),
        appeal=present_appeal(review.appeal, with_text=True) if review.appeal else None,
        suppressions=[present_suppression(each) for each in review.said.suppressions],
        reviews=[_present_past(each) for each in review.reviews],
    )


def present_suppression(each: Suppression) -> SuppressionView:
    """A suppression."""
    return SuppressionView(
        id=each.id,
        scope=each.scope,
        rule_id=each.rule_id,
        file=each.file,
        skill_path=each.skill_path,
        content_digest=each.content_digest,
        until=each.until,
        reason=each.reason,
        by=each.by,
        created_at=each.created_at,
        ended_at=each.ended_at,
        ended_by=each.ended_by,
        ended_reason=each.ended_reason,
    )


def _present_waiting(each: Waiting, web_url: str) -> WaitingView:
    return WaitingView(
        submission=present_submission(each.submission, web_url),
        version=each.submission.version,
        age_seconds=round(each.age.total_seconds()),
        top_findings=[present_finding(finding, Said()) for finding in each.worst],
        appeal=present_appeal(each.appeal, with_text=True) if each.appeal else None,
    )


def _present_past(each: Review) -> ReviewView:
    return ReviewView(
        ruling=each.ruling,
        reason=each.reason,
        reviewer=each.reviewer,
        content_digest=each.content_digest,
        at=each.at,
    )
