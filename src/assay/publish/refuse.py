"""Refuse: always with a reason that says which rule, which file, which line, and what to do."""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import AssayError
from assay.model.source import Source
from assay.model.submission import Reason, State, Submission
from assay.model.verdict import Decision, Path, Verdict, Weighed
from assay.store.scans.scans import Examined, save_scans
from assay.store.submissions.transitions import Step, move

NEXT_STEPS = {
    "source_not_found": "Check the address and that the repository is public, then submit again.",
    "source_replaced": "If it is yours and was made anew, ask an operator; else submit it under another address.",
    "source_empty": "Push a commit with the skill, then submit again.",
    "skill_not_in_source": "Give the path of the SKILL.md in skillPath and submit again.",
    "file_too_large": "Remove or shrink the file, then submit again.",
    "skill_too_large": "Remove what the skill does not need, then submit again.",
    "tree_truncated": "Move the skill to a repository with fewer files, then submit again.",
    "unsafe_file": "Replace it by a plain file with a plain name, then submit again.",
}


async def refuse_submission(db: AsyncConnection, submission: Submission, reason: Reason, *, trigger: str) -> Submission:
    """The source itself cannot be listed: REJECTED."""
    step = Step(State.REJECTED, trigger, {"reason": reason.code})
    return await move(db, submission, step, actor="worker", **reason_columns(reason))


async def refuse_skill(db: AsyncConnection, submission: Submission, source: Source, weighed: Weighed) -> Submission:
    """The verdict is no, or not without a person: the findings are kept and the reason is shown."""
    verdict = weighed.verdict
    assert verdict.reason is not None
    await save_scans(db, 1, [Examined(source.manifest, weighed.report, weighed.static)])
    said = {"score": verdict.score, "reason": verdict.reason.code, "digest": source.digest, "commit": source.commit}
    step = Step(_state_of(verdict), "judged", said)
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


def reason_of(problem: AssayError) -> Reason:
    """An error of the source as a reason for its author."""
    return Reason(problem.code, problem.message, NEXT_STEPS.get(problem.code))


def reason_columns(reason: Reason) -> dict[str, str | None]:
    """A reason as it is kept with the submission."""
    return {"reason_code": reason.code, "reason_message": reason.message, "next_step": reason.next_step}
