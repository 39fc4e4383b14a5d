"""Approve or reject: one person, one reason, exactly the bytes that were examined, in one transaction."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.certify.certify import certify_source
from assay.certify.keys import SigningKeys
from assay.model.appeal import AppealStatus
from assay.model.errors import Conflict
from assay.model.human_decisions import REJECTED, rejection
from assay.model.listing_status import Remark, VersionStatus
from assay.model.review import Review, Ruling
from assay.model.source import Source
from assay.model.submission import State, Submission
from assay.model.verdict import Decision, Path, Verdict, Weighed
from assay.moderation.examined_content import ExaminedContent, read_examined
from assay.moderation.withdraw import remark, withdraw
from assay.publish.block import blocks_of
from assay.publish.publish import Approved, listed_as, publish_again, publish_all
from assay.publish.refuse import reason_columns
from assay.scan.text.front_matter import describe
from assay.store.moderation.appeals import answer_appeal
from assay.store.moderation.blocklist import hold_blocklist
from assay.store.moderation.reviews import add_review
from assay.store.operations.audit import record_audit
from assay.store.skills.skills import find_name, list_versions
from assay.store.submissions.selection import lock_by_ids
from assay.store.submissions.transitions import Step, move
from assay.store.versions.status import hold_listing


@dataclass(frozen=True)
class Decided:
    """What a reviewer says about a submission as they saw it: its version then, why, who and when."""

    submission_id: UUID
    version: int
    reason: str
    by: str
    at: datetime

    @property
    def remark(self) -> Remark:
        """The reason, checked. Raises Invalid without one."""
        return remark(REJECTED, self.reason, at=self.at, by=self.by)


async def approve(
    db: AsyncConnection, decided: Decided, examined: ExaminedContent, source: Source, keys: SigningKeys
) -> Submission:
    """Publish the examined bytes as CERTIFIED. Raises Conflict if somebody was faster, or they are blocked."""
    submission, review = examined.submission, _review(decided, Ruling.APPROVED, examined)
    # Before any lock: see `hold_blocklist`.
    [entry] = await blocks_of(db, [(submission, examined.digest)])
    if entry is not None:
        raise Conflict(f"It is on the blocklist ({entry.threat}): {entry.reason}", code="blocklisted")
    await _lock(db, decided, examined)
    scan = examined.scan
    assert scan.score is not None, "a scanner that failed has left no scan of this tier"
    verdict = Verdict(scan.score, scan.outcome, Decision.APPROVE, Path.REVIEWED, None)
    listed = await find_name(db, submission.skill_id) if submission.skill_id else None
    name = listed_as(submission, listed)
    weighed = Weighed(scan.report, None, verdict, verdict)
    certificate = certify_source(name, source, weighed, keys, decided.at, review)
    approved = Approved(name, source, describe(source.skill_md), weighed, certificate, review)
    [published] = await publish_all(db, [(submission, approved)]) if submission.skill_id is None else [None]
    published = published or await publish_again(db, submission, approved, keys)
    await _write_down(db, decided, review, AppealStatus.GRANTED, before=submission.state)
    return published


async def reject(db: AsyncConnection, decided: Decided) -> Submission:
    """Refuse the examined bytes; a live version of them is withdrawn. Raises Conflict if somebody was faster."""
    await hold_blocklist(db)
    examined = await read_examined(db, decided.submission_id)
    submission, review = examined.submission, _review(decided, Ruling.REJECTED, examined)
    if submission.state is not State.NEEDS_REVIEW:
        raise Conflict(f"It is {submission.state} already.", code="not_reviewable")
    await _lock(db, decided, examined)
    reason = rejection(review)
    about = {"reason": reason.code, "digest": examined.digest, "commit": examined.commit, "said": review.reason}
    step = Step(State.REJECTED, "rejected by a reviewer", about)
    rejected = await move(db, submission, step, actor=decided.by, **reason_columns(reason))
    await _withdraw_if_live(db, submission, examined.digest, decided.remark)
    await _write_down(db, decided, review, AppealStatus.REFUSED, before=submission.state)
    return rejected


async def _lock(db: AsyncConnection, decided: Decided, examined: ExaminedContent) -> None:
    """The submission is as the reviewer saw it, and stays so until the end of the transaction."""
    await hold_listing(db, examined.submission.skill_id)
    locked = (await lock_by_ids(db, [decided.submission_id]))[decided.submission_id]
    if not locked.version == decided.version == examined.submission.version:
        raise Conflict(
            f"It has changed since you looked at it, and is {locked.state} now; look at it again.",
            code="decided_meanwhile",
        )


def _review(decided: Decided, ruling: Ruling, examined: ExaminedContent) -> Review:
    return Review(ruling, decided.remark.message, decided.by, examined.digest, examined.seen, decided.at)


async def _withdraw_if_live(db: AsyncConnection, submission: Submission, digest: str, why: Remark) -> None:
    """What is refused is not served, also if it was published before."""
    name = await find_name(db, submission.skill_id) if submission.skill_id else None
    if submission.skill_id is None or name is None:
        return
    for version in await list_versions(db, submission.skill_id):
        if version.content_digest == digest and version.status is not VersionStatus.WITHDRAWN:
            await withdraw(db, name, version.version, why)


async def _write_down(
    db: AsyncConnection, decided: Decided, review: Review, appeal: AppealStatus, *, before: State
) -> None:
    """The review, the answer to an appeal, and the trail."""
    await add_review(db, decided.submission_id, review)
    is_appeal = await answer_appeal(
        db,
        decided.submission_id,
        review.content_digest,
        appeal,
        answer=review.reason,
        by=review.reviewer,
        at=review.at,
    )
    detail = {"reason": review.reason, "digest": review.content_digest, "from": before.value, "appeal": is_appeal}
    await record_audit(db, review.reviewer, f"review_{review.ruling}", str(decided.submission_id), detail)
