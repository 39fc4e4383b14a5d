"""The review queue: what waits for a person, oldest first, and everything that a person needs to decide."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.appeal import Appeal
from assay.model.capability import Capabilities
from assay.model.finding import Finding
from assay.model.human_decisions import Said
from assay.model.review import Review
from assay.model.skill import SkillVersion
from assay.model.source import FileEntry
from assay.model.submission import State, Submission
from assay.model.submission_list import Direction, Filters, Order, Sort
from assay.serve.queue.queue import QueueQuery, read_queue
from assay.serve.submissions.submission import SubmissionDetail, read_submission
from assay.serve.versions.compare import beyond
from assay.store.moderation.appeals import find_appeals
from assay.store.moderation.reviews import find_said, list_reviews
from assay.store.scans.capabilities import find_capabilities
from assay.store.scans.contents import list_files
from assay.store.scans.scans import find_worst
from assay.store.skills.skills import find_name, find_skill, find_version

WORST_SHOWN = 3
WAITING = frozenset({State.NEEDS_REVIEW})
# Who waits longest comes first.
OLDEST_FIRST = Order(Sort.UPDATED_AT, Direction.ASC)


@dataclass(frozen=True)
class Waiting:
    """One submission that waits for a person."""

    submission: Submission
    age: timedelta
    worst: Sequence[Finding]
    appeal: Appeal | None


@dataclass(frozen=True)
class ReviewPage:
    """A page of what waits."""

    waiting: list[Waiting]
    total: int
    total_is_exact: bool
    next_cursor: str | None
    as_of: datetime


@dataclass(frozen=True)
class ReviewDetail:
    """Everything about one: the submission as its page shows it, its files, what people have said, and how it differs
    from what is live. `upstream_commit` is where its source is now, if it has moved on.
    """

    detail: SubmissionDetail
    files: list[FileEntry]
    said: Said
    reviews: list[Review]
    appeal: Appeal | None
    live: SkillVersion | None
    gained: Capabilities
    lost: Capabilities
    commit: str | None
    upstream_commit: str | None

    @property
    def submission(self) -> Submission:
        """The submission itself."""
        return self.detail.submission


async def read_reviews(
    db: AsyncConnection, filters: Filters, now: datetime, *, limit: int, cursor: str | None
) -> ReviewPage:
    """A page of the queue; the filters narrow it."""
    page = await read_queue(db, QueueQuery(filters, OLDEST_FIRST, limit, cursor), now)
    digests = sorted({each.content_digest for each in page.submissions if each.content_digest})
    worst = await find_worst(db, digests, WORST_SHOWN)
    appeals = await find_appeals(db, [each.id for each in page.submissions])
    return ReviewPage(
        [_waiting(each, worst, appeals, now) for each in page.submissions],
        page.total,
        page.total_is_exact,
        page.next_cursor,
        page.stats.as_of,
    )


async def read_review(db: AsyncConnection, submission_id: UUID, now: datetime) -> ReviewDetail:
    """One submission in any state, or NotFound; what has not been examined has no files."""
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
        said=(await find_said(db, [(submission, digest)]))[0] if digest else Said(),
        reviews=await list_reviews(db, submission_id),
        appeal=(await find_appeals(db, [submission_id])).get(submission_id),
        live=live,
        gained=beyond(new, old),
        lost=beyond(old, new),
        commit=commit,
        upstream_commit=submission.repository.commit if moved else None,
    )


async def _live_version(db: AsyncConnection, submission: Submission) -> SkillVersion | None:
    name = await find_name(db, submission.skill_id) if submission.skill_id else None
    skill = await find_skill(db, name) if name else None
    return await find_version(db, skill.id, skill.current_version) if skill else None


def _waiting(
    submission: Submission, worst: Mapping[str, list[Finding]], appeals: Mapping[UUID, Appeal], now: datetime
) -> Waiting:
    since = submission.decided_at or submission.updated_at
    return Waiting(
        submission,
        max(now - since, timedelta()),
        worst.get(submission.content_digest or "", []),
        appeals.get(submission.id),
    )
