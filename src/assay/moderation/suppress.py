"""Suppress a finding until a date, and let it count again: everything that it decided is then decided anew."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.appeal import AppealStatus
from assay.model.errors import Conflict, Invalid, NotFound
from assay.model.ids import new_id
from assay.model.listing_status import Remark
from assay.model.review import Ruling
from assay.model.submission import State, Submission
from assay.model.suppression import Scope, Suppression
from assay.moderation.examined_content import OPEN_TO_REVIEW
from assay.operations.requeue import give_back, requeue_quietly
from assay.publish.block import blocks_of
from assay.store.moderation.appeals import answer_appeal
from assay.store.moderation.reviews import find_said
from assay.store.moderation.suppressions import (
    add_suppression,
    concerned_submissions,
    end_suppression,
    lock_overdue,
)
from assay.store.operations.audit import record_audit
from assay.store.scans.scans import list_scans
from assay.store.submissions.selection import lock_by_ids
from assay.store.submissions.submissions import get_submission

LONGEST = timedelta(days=365)
AT_MOST = 1_000
EXPIRED = "its time was over"
TIMER = "suppression timer"


@dataclass(frozen=True)
class Wanted:
    """A finding of a submission that shall not count: where, until when."""

    submission_id: UUID
    rule_id: str
    file: str
    scope: Scope
    until: datetime


async def suppress(db: AsyncConnection, wanted: Wanted, why: Remark) -> tuple[Suppression, int]:
    """Let a finding not count, and look again at what it has refused. Returns how many submissions that are."""
    _check_until(wanted.until, why.at)
    submission = await get_submission(db, wanted.submission_id)
    digest = submission.content_digest
    if digest is None:
        raise Conflict("Its files were not examined; there is nothing to suppress.", code="not_examined")
    # Before any lock: see `hold_blocklist`.
    [entry] = await blocks_of(db, [(submission, digest)])
    if entry is not None:
        raise Conflict(f"It is on the blocklist ({entry.threat}): {entry.reason}", code="blocklisted")
    new = Suppression(
        id=new_id(),
        scope=wanted.scope,
        rule_id=wanted.rule_id,
        file=wanted.file,
        repository_id=submission.repository.id,
        skill_path=submission.skill_path,
        content_digest=digest,
        excerpts=await _matched(db, digest, wanted),
        until=wanted.until,
        reason=why.message,
        by=why.by,
        created_at=why.at,
    )
    try:
        async with db.begin_nested():
            await add_suppression(db, new)
    except IntegrityError as known:
        raise Conflict("This finding is suppressed already.", code="already_suppressed") from known
    looked_at = await _look_again(db, new, why)
    detail = {"rule": new.rule_id, "file": new.file, "scope": new.scope.value, "until": new.until.isoformat()}
    about = {"reason": why.message, "submission": str(submission.id), "submissions": looked_at}
    await record_audit(db, why.by, "finding_suppressed", str(new.id), detail | about)
    return new, looked_at


async def lift(db: AsyncConnection, suppression_id: UUID, why: Remark) -> Suppression:
    """Let the finding count again before its time."""
    ended = await end_suppression(db, suppression_id, at=why.at, by=why.by, reason=why.message)
    if ended is None:
        raise NotFound(f"There is no suppression {suppression_id} that holds.", code="suppression_not_found")
    await _count_again(db, ended)
    return ended


async def end_overdue(db: AsyncConnection, now: datetime) -> int:
    """Let everything count again whose time is over. Returns how many suppressions ended."""
    overdue = await lock_overdue(db, now, AT_MOST)
    for number in overdue:
        ended = await end_suppression(db, number, at=now, by=TIMER, reason=EXPIRED)
        if ended is not None:
            await _count_again(db, ended)
    return len(overdue)


async def _matched(db: AsyncConnection, digest: str, wanted: Wanted) -> tuple[str, ...]:
    """What the rule matched in the file; what was not found cannot be suppressed."""
    found = {
        finding.excerpt
        for scan in await list_scans(db, digest)
        for finding in scan.report.findings
        if (finding.rule_id, finding.file) == (wanted.rule_id, wanted.file)
    }
    if not found:
        raise NotFound(f"No finding of {wanted.rule_id} is in {wanted.file}.", code="finding_not_found")
    return tuple(sorted(found))


async def _look_again(db: AsyncConnection, new: Suppression, why: Remark) -> int:
    """A new round for what the finding may have refused; what a reviewer has rejected stays so."""
    ids = await concerned_submissions(db, new, sorted(OPEN_TO_REVIEW), AT_MOST)
    locked = list((await lock_by_ids(db, ids)).values())
    said = await find_said(db, [(each, each.content_digest or "") for each in locked])
    chosen: list[Submission] = []
    for each, known in zip(locked, said, strict=True):
        if known.review is None or known.review.ruling is not Ruling.REJECTED:
            chosen.append(each)
            answer = f"A finding was suppressed, and it is looked at again: {why.message}"
            digest = each.content_digest or ""
            await answer_appeal(db, each.id, digest, AppealStatus.GRANTED, answer=answer, by=why.by, at=why.at)
    if chosen:
        await give_back(db, chosen, by=why.by, reason=why.message, trigger="finding suppressed")
    return len(chosen)


async def _count_again(db: AsyncConnection, ended: Suppression) -> None:
    """What was published with its help is judged anew; it stays live until that is decided."""
    assert ended.ended_by is not None
    assert ended.ended_reason is not None
    said = f"{ended.rule_id} in {ended.file} counts again: {ended.ended_reason}"
    ids = await concerned_submissions(db, ended, [State.PUBLISHED], AT_MOST)
    reopened = await requeue_quietly(db, ids, by=ended.ended_by, reason=said)
    detail = {"rule": ended.rule_id, "file": ended.file, "reason": ended.ended_reason, "submissions": len(reopened)}
    await record_audit(db, ended.ended_by, "suppression_ended", str(ended.id), detail)


def _check_until(until: datetime, now: datetime) -> None:
    if not now < until <= now + LONGEST:
        raise Invalid(f"until: give a time from now on, at most {LONGEST.days} days ahead.", code="bad_until")
