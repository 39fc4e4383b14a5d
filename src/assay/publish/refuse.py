"""Refusals, each with a reason and a next step for the author."""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import AssayError
from assay.model.source import Source
from assay.model.submission import Reason, State, Submission
from assay.model.verdict import Assessment, Decision, Path, Verdict
from assay.store.scans.scans import ScannedContent, save_scans
from assay.store.submissions.transitions import Step, move

NEXT_STEPS = {
    "source_not_found": "Check that the URL is correct and the repository is public, then submit again.",
    "source_replaced": "If you recreated this repository, ask an operator to adopt it; otherwise check the URL.",
    "source_empty": "Push a commit that contains the skill, then submit again.",
    "skill_not_in_source": "Set skillPath to the path of the SKILL.md, then submit again.",
    "file_too_large": "Remove the file or make it smaller, then submit again.",
    "skill_too_large": "Remove files that the skill does not need, then submit again.",
    "tree_truncated": "Move the skill to a repository with fewer files, then submit again.",
    "name_mismatch": "Submit the skill under the name of its folder, or sign in as the owner of the repository.",
    "namespace_taken": "Ask an operator of this registry who owns the namespace.",
    "unsafe_file": "Replace it with a regular file whose name has only ordinary characters, then submit again.",
}


async def refuse_submission(db: AsyncConnection, submission: Submission, reason: Reason, *, trigger: str) -> Submission:
    """Move a submission to REJECTED whose source cannot be listed."""
    step = Step(State.REJECTED, trigger, {"reason": reason.code})
    return await move(db, submission, step, actor="worker", **reason_columns(reason))


async def refuse_skill(
    db: AsyncConnection, submission: Submission, source: Source, assessment: Assessment
) -> Submission:
    """Store the scan and move the submission to the state of its verdict: refused or waiting for review."""
    verdict = assessment.verdict
    assert verdict.reason is not None
    await save_scans(db, 1, [ScannedContent(source.manifest, assessment.report, assessment.static)])
    details = {"score": verdict.score, "reason": verdict.reason.code, "digest": source.digest, "commit": source.commit}
    step = Step(_state_of(verdict), "judged", details)
    return await move(
        db,
        submission,
        step,
        actor="worker",
        content_digest=source.digest,
        score=verdict.score,
        **reason_columns(verdict.reason),
    )


def _state_of(verdict: Verdict) -> State:
    if verdict.decision is Decision.REVIEW:
        return State.NEEDS_REVIEW
    return State.REJECTED if verdict.path in (Path.JUDGED, Path.REVIEWED) else State.TIER1_FAILED


def reason_from_error(error: AssayError) -> Reason:
    return Reason(error.code, error.message, NEXT_STEPS.get(error.code))


def reason_columns(reason: Reason) -> dict[str, str | None]:
    """Return the reason as columns of the submission."""
    return {"reason_code": reason.code, "reason_message": reason.message, "next_step": reason.next_step}
