"""Reviews: approval or rejection of exactly the examined content, in one transaction."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.permissions import has_chosen_name
from assay.certify.certify import certify_source
from assay.certify.keys import SigningKeys
from assay.model.errors import Conflict
from assay.model.moderation import REJECTED, AppealStatus, Review, ReviewDecision, rejection_reason
from assay.model.skill import StatusReason, VersionStatus
from assay.model.source import Source
from assay.model.submission import State, Submission
from assay.model.verdict import Assessment, Decision, Path, Verdict
from assay.moderation.examined_content import ExaminedContent, read_examined
from assay.moderation.withdraw import status_reason, withdraw
from assay.publish.block import find_block_entries
from assay.publish.publish import Approved, listing_name_for, publish_new_listings, publish_to_listing
from assay.publish.refuse import reason_columns
from assay.scan.text.front_matter import describe
from assay.store.moderation.appeals import answer_appeal
from assay.store.moderation.blocklist import lock_blocklist_shared
from assay.store.moderation.reviews import add_review
from assay.store.operations.audit import record_audit
from assay.store.skills.locks import lock_listing_by_id
from assay.store.skills.skills import find_name
from assay.store.submissions.selection import lock_by_ids
from assay.store.submissions.transitions import Step, move
from assay.store.versions.versions import list_versions


@dataclass(frozen=True)
class ReviewInput:
    """A reviewer's decision about a submission; `version` is the row version that the reviewer saw."""

    submission_id: UUID
    version: int
    reason: str
    by: str
    at: datetime

    @property
    def status_reason(self) -> StatusReason:
        """The validated reason. Raises Invalid if it is missing."""
        return status_reason(REJECTED, self.reason, at=self.at, by=self.by)


async def approve(
    db: AsyncConnection, decision: ReviewInput, examined: ExaminedContent, source: Source, keys: SigningKeys
) -> Submission:
    """Publish the examined content as CERTIFIED. Raises Conflict if it is blocklisted or was decided meanwhile."""
    submission, review = examined.submission, _review(decision, ReviewDecision.APPROVED, examined)
    # Before any other lock: see `lock_blocklist_shared`.
    [entry] = await find_block_entries(db, [(submission, examined.digest)])
    if entry is not None:
        raise Conflict(f"This skill is on the blocklist ({entry.threat}): {entry.reason}", code="blocklisted")
    await _lock(db, decision, examined)
    scan = examined.scan
    assert scan.score is not None, "a scanner that failed has left no scan of this tier"
    verdict = Verdict(scan.score, scan.outcome, Decision.APPROVE, Path.REVIEWED, None)
    listed = await find_name(db, submission.skill_id) if submission.skill_id else None
    name = listing_name_for(submission, listed)
    assessment = Assessment(scan.report, None, verdict, verdict)
    certificate = certify_source(name, source, assessment, keys, decision.at, review)
    is_chosen = await has_chosen_name(db, submission)
    approved = Approved(name, source, describe(source.skill_md), assessment, certificate, review, is_chosen)
    [published] = await publish_new_listings(db, [(submission, approved)]) if submission.skill_id is None else [None]
    published = published or await publish_to_listing(db, submission, approved, keys)
    await _record_review(db, decision, review, AppealStatus.GRANTED, before=submission.state)
    return published


async def reject(db: AsyncConnection, decision: ReviewInput) -> Submission:
    """Reject the examined content and withdraw published versions of it. Raises Conflict if decided meanwhile."""
    await lock_blocklist_shared(db)
    examined = await read_examined(db, decision.submission_id)
    submission, review = examined.submission, _review(decision, ReviewDecision.REJECTED, examined)
    if submission.state is not State.NEEDS_REVIEW:
        raise Conflict(f"This submission is already {submission.state}.", code="not_reviewable")
    await _lock(db, decision, examined)
    reason = rejection_reason(review)
    about = {"reason": reason.code, "digest": examined.digest, "commit": examined.commit, "said": review.reason}
    step = Step(State.REJECTED, "rejected by a reviewer", about)
    rejected = await move(db, submission, step, actor=decision.by, **reason_columns(reason))
    await _withdraw_if_live(db, submission, examined.digest, decision.status_reason)
    await _record_review(db, decision, review, AppealStatus.REFUSED, before=submission.state)
    return rejected


async def _lock(db: AsyncConnection, decision: ReviewInput, examined: ExaminedContent) -> None:
    """Lock the listing and the submission. Raises Conflict unless the submission is as the reviewer saw it."""
    await lock_listing_by_id(db, examined.submission.skill_id)
    locked = (await lock_by_ids(db, [decision.submission_id]))[decision.submission_id]
    if not locked.version == decision.version == examined.submission.version:
        raise Conflict(
            f"This submission has changed since you opened it and is {locked.state} now. Reload it and decide again.",
            code="decided_meanwhile",
        )


def _review(decision: ReviewInput, ruling: ReviewDecision, examined: ExaminedContent) -> Review:
    return Review(ruling, decision.status_reason.message, decision.by, examined.digest, examined.seen, decision.at)


async def _withdraw_if_live(db: AsyncConnection, submission: Submission, digest: str, why: StatusReason) -> None:
    """Withdraw versions with the rejected content."""
    name = await find_name(db, submission.skill_id) if submission.skill_id else None
    if submission.skill_id is None or name is None:
        return
    for version in await list_versions(db, submission.skill_id):
        if version.content_digest == digest and version.status is not VersionStatus.WITHDRAWN:
            await withdraw(db, name, version.version, why)


async def _record_review(
    db: AsyncConnection, decision: ReviewInput, review: Review, appeal: AppealStatus, *, before: State
) -> None:
    """Store the review, answer an open appeal, and write the audit event."""
    await add_review(db, decision.submission_id, review)
    is_appeal = await answer_appeal(
        db,
        decision.submission_id,
        review.content_digest,
        appeal,
        answer=review.reason,
        by=review.reviewer,
        at=review.at,
    )
    detail = {"reason": review.reason, "digest": review.content_digest, "from": before.value, "appeal": is_appeal}
    await record_audit(db, review.reviewer, f"review_{review.ruling}", str(decision.submission_id), detail)
