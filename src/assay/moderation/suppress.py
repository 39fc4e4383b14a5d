"""Suppressions of findings, and the new cycles of the submissions they affect."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Conflict, Invalid, NotFound
from assay.model.ids import new_id
from assay.model.moderation import AppealStatus, ReviewDecision, Suppression, SuppressionScope
from assay.model.skill import StatusReason
from assay.model.submission import State, Submission
from assay.moderation.examined_content import OPEN_TO_REVIEW
from assay.operations.requeue import reopen_and_enqueue, requeue_behind_new
from assay.publish.block import find_block_entries
from assay.store.moderation.appeals import answer_appeal
from assay.store.moderation.reviews import find_human_decisions
from assay.store.moderation.suppressions import (
    add_suppression,
    end_suppression,
    list_affected_submissions,
    lock_expired_suppressions,
)
from assay.store.operations.audit import record_audit
from assay.store.scans.scans import list_scans
from assay.store.submissions.selection import lock_by_ids
from assay.store.submissions.submissions import get_submission

MAX_DURATION = timedelta(days=365)
BATCH_SIZE = 1_000
EXPIRED = "the suppression expired"
TIMER = "suppression timer"


@dataclass(frozen=True)
class SuppressionRequest:
    """A request to suppress a finding of a submission."""

    submission_id: UUID
    rule_id: str
    file: str
    scope: SuppressionScope
    until: datetime


async def suppress(db: AsyncConnection, request: SuppressionRequest, why: StatusReason) -> tuple[Suppression, int]:
    """Suppress a finding and start a new cycle for the submissions it refused; return their number, too."""
    _check_until(request.until, why.at)
    submission = await get_submission(db, request.submission_id)
    digest = submission.content_digest
    if digest is None:
        raise Conflict(
            "The files of this submission were not examined, so it has no findings to suppress.", code="not_examined"
        )
    # Before any other lock: see `lock_blocklist_shared`.
    [entry] = await find_block_entries(db, [(submission, digest)])
    if entry is not None:
        raise Conflict(f"This skill is on the blocklist ({entry.threat}): {entry.reason}", code="blocklisted")
    new = Suppression(
        id=new_id(),
        scope=request.scope,
        rule_id=request.rule_id,
        file=request.file,
        repository_id=submission.repository.id,
        skill_path=submission.skill_path,
        content_digest=digest,
        excerpts=await _matched(db, digest, request),
        until=request.until,
        reason=why.message,
        by=why.by,
        created_at=why.at,
    )
    try:
        async with db.begin_nested():
            await add_suppression(db, new)
    except IntegrityError as known:
        raise Conflict("This finding is already suppressed.", code="already_suppressed") from known
    requeued = await _requeue_refused(db, new, why)
    detail = {"rule": new.rule_id, "file": new.file, "scope": new.scope.value, "until": new.until.isoformat()}
    about = {"reason": why.message, "submission": str(submission.id), "submissions": requeued}
    await record_audit(db, why.by, "finding_suppressed", str(new.id), detail | about)
    return new, requeued


async def lift_suppression(db: AsyncConnection, suppression_id: UUID, why: StatusReason) -> Suppression:
    """End an active suppression early. Raises NotFound."""
    ended = await end_suppression(db, suppression_id, at=why.at, by=why.by, reason=why.message)
    if ended is None:
        raise NotFound(f"There is no active suppression {suppression_id}.", code="suppression_not_found")
    await _requeue_published(db, ended)
    return ended


async def end_expired_suppressions(db: AsyncConnection, now: datetime) -> int:
    """End expired suppressions; return their number."""
    overdue = await lock_expired_suppressions(db, now, BATCH_SIZE)
    for number in overdue:
        ended = await end_suppression(db, number, at=now, by=TIMER, reason=EXPIRED)
        if ended is not None:
            await _requeue_published(db, ended)
    return len(overdue)


async def _matched(db: AsyncConnection, digest: str, request: SuppressionRequest) -> tuple[str, ...]:
    """Return the excerpts that the rule matched in the file. Raises NotFound if there are none."""
    found = {
        finding.excerpt
        for scan in await list_scans(db, digest)
        for finding in scan.report.findings
        if (finding.rule_id, finding.file) == (request.rule_id, request.file)
    }
    if not found:
        raise NotFound(f"No finding of {request.rule_id} is in {request.file}.", code="finding_not_found")
    return tuple(sorted(found))


async def _requeue_refused(db: AsyncConnection, new: Suppression, why: StatusReason) -> int:
    """Start a new cycle for submissions that the finding may have refused, except those a reviewer rejected."""
    ids = await list_affected_submissions(db, new, sorted(OPEN_TO_REVIEW), BATCH_SIZE)
    locked = list((await lock_by_ids(db, ids)).values())
    decisions = await find_human_decisions(db, [(each, each.content_digest or "") for each in locked])
    chosen: list[Submission] = []
    for each, known in zip(locked, decisions, strict=True):
        if known.review is None or known.review.ruling is not ReviewDecision.REJECTED:
            chosen.append(each)
            answer = f"A reviewer suppressed a finding, and the skill is examined again: {why.message}"
            digest = each.content_digest or ""
            await answer_appeal(db, each.id, digest, AppealStatus.GRANTED, answer=answer, by=why.by, at=why.at)
    if chosen:
        await reopen_and_enqueue(db, chosen, by=why.by, reason=why.message, trigger="finding suppressed")
    return len(chosen)


async def _requeue_published(db: AsyncConnection, ended: Suppression) -> None:
    """Start a new cycle for submissions published with the suppression; their versions stay live meanwhile."""
    assert ended.ended_by is not None
    assert ended.ended_reason is not None
    reason = f"{ended.rule_id} in {ended.file} counts again: {ended.ended_reason}"
    ids = await list_affected_submissions(db, ended, [State.PUBLISHED], BATCH_SIZE)
    reopened = await requeue_behind_new(db, ids, by=ended.ended_by, reason=reason)
    detail = {"rule": ended.rule_id, "file": ended.file, "reason": ended.ended_reason, "submissions": len(reopened)}
    await record_audit(db, ended.ended_by, "suppression_ended", str(ended.id), detail)


def _check_until(until: datetime, now: datetime) -> None:
    if not now < until <= now + MAX_DURATION:
        raise Invalid(f"until must be in the future and at most {MAX_DURATION.days} days ahead.", code="bad_until")
