"""The review queue, oldest first, and everything a reviewer needs to decide on a submission."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.finding import Capabilities, Finding
from assay.model.moderation import Appeal, HumanDecisions, Review
from assay.model.skill import SkillVersion
from assay.model.source import FileEntry
from assay.model.submission import SortDirection, State, Submission, SubmissionFilters, SubmissionOrder, SubmissionSort
from assay.serve.queue.queue import QueueQuery, read_queue
from assay.serve.submissions.submission import SubmissionDetail, read_submission
from assay.serve.versions.compare import capability_difference
from assay.store.moderation.appeals import find_appeals
from assay.store.moderation.reviews import find_human_decisions, list_reviews
from assay.store.scans.contents import find_capabilities, list_files
from assay.store.scans.scans import find_most_severe
from assay.store.skills.skills import find_name, find_skill
from assay.store.versions.versions import find_version

WORST_SHOWN = 3
WAITING = frozenset({State.NEEDS_REVIEW})
OLDEST_FIRST = SubmissionOrder(SubmissionSort.UPDATED_AT, SortDirection.ASC)


@dataclass(frozen=True)
class PendingReview:
    """A submission that waits for review, with its most severe findings."""

    submission: Submission
    age: timedelta
    worst: Sequence[Finding]
    appeal: Appeal | None


@dataclass(frozen=True)
class ReviewPage:
    waiting: list[PendingReview]
    total: int
    total_is_exact: bool
    next_cursor: str | None
    as_of: datetime


@dataclass(frozen=True)
class ReviewDetail:
    """A submission with its files, human decisions and appeal, and its changes in capabilities since the live version.

    `upstream_commit` is the current commit of the repository if it differs from the examined one.
    """

    detail: SubmissionDetail
    files: list[FileEntry]
    decisions: HumanDecisions
    reviews: list[Review]
    appeal: Appeal | None
    live: SkillVersion | None
    gained: Capabilities
    lost: Capabilities
    commit: str | None
    upstream_commit: str | None

    @property
    def submission(self) -> Submission:
        return self.detail.submission


async def read_reviews(
    db: AsyncConnection, filters: SubmissionFilters, now: datetime, *, limit: int, cursor: str | None
) -> ReviewPage:
    """Return a page of submissions that wait for review and match the filters."""
    page = await read_queue(db, QueueQuery(filters, OLDEST_FIRST, limit, cursor), now)
    digests = sorted({each.content_digest for each in page.submissions if each.content_digest})
    worst = await find_most_severe(db, digests, WORST_SHOWN)
    appeals = await find_appeals(db, [each.id for each in page.submissions])
    return ReviewPage(
        [_waiting(each, worst, appeals, now) for each in page.submissions],
        page.total,
        page.total_is_exact,
        page.next_cursor,
        page.stats.as_of,
    )


async def read_review(db: AsyncConnection, submission_id: UUID, now: datetime) -> ReviewDetail:
    """Return a submission in any state; raises NotFound. A submission that was not examined has no files."""
    detail = await read_submission(db, submission_id, now)
    submission, digest = detail.submission, detail.submission.content_digest
    live = await _live_version(db, submission)
    digests = [each for each in (live.content_digest if live else None, digest) if each]
    reached = await find_capabilities(db, digests)
    old = reached.get(live.content_digest, Capabilities()) if live else Capabilities()
    new = reached.get(digest, Capabilities()) if digest else Capabilities()
    commit = next(
        (str(each.metadata["commit"]) for each in reversed(detail.history) if "commit" in each.metadata), None
    )
    moved = submission.repository.commit not in (None, commit) and submission.upload_digest is None
    return ReviewDetail(
        detail=detail,
        files=await list_files(db, digest) if digest else [],
        decisions=(await find_human_decisions(db, [(submission, digest)]))[0] if digest else HumanDecisions(),
        reviews=await list_reviews(db, submission_id),
        appeal=(await find_appeals(db, [submission_id])).get(submission_id),
        live=live,
        gained=capability_difference(new, old),
        lost=capability_difference(old, new),
        commit=commit,
        upstream_commit=submission.repository.commit if moved else None,
    )


async def _live_version(db: AsyncConnection, submission: Submission) -> SkillVersion | None:
    name = await find_name(db, submission.skill_id) if submission.skill_id else None
    skill = await find_skill(db, name) if name else None
    return await find_version(db, skill.id, skill.current_version) if skill else None


def _waiting(
    submission: Submission, worst: Mapping[str, list[Finding]], appeals: Mapping[UUID, Appeal], now: datetime
) -> PendingReview:
    since = submission.decided_at or submission.updated_at
    return PendingReview(
        submission,
        max(now - since, timedelta()),
        worst.get(submission.content_digest or "", []),
        appeals.get(submission.id),
    )
