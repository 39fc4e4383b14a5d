"""The examined content that a reviewer decides about."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Conflict
from assay.model.moderation import finding_key
from assay.model.submission import State, Submission, SubmissionEvent
from assay.model.verdict import Scan
from assay.store.scans.scans import list_scans
from assay.store.submissions.submissions import get_submission, list_events

# States in which a reviewer may decide.
OPEN_TO_REVIEW = frozenset({State.NEEDS_REVIEW, State.TIER1_FAILED, State.REJECTED})


@dataclass(frozen=True)
class ExaminedContent:
    """A submission with the content and commit of its current verdict, and its scans, newest first."""

    submission: Submission
    digest: str
    commit: str
    scans: Sequence[Scan]

    @property
    def scan(self) -> Scan:
        """The latest static scan that succeeded; every examined content has one."""
        return next(each for each in self.scans if _is_static_result(each))

    @property
    def seen(self) -> frozenset[str]:
        """The keys of all findings."""
        return frozenset(finding_key(finding) for scan in self.scans for finding in scan.report.findings)


async def read_examined(db: AsyncConnection, submission_id: UUID) -> ExaminedContent:
    """Read a submission for review. Raises Conflict if it is not open to review or was never examined."""
    submission = await get_submission(db, submission_id)
    if submission.state not in OPEN_TO_REVIEW:
        raise Conflict(f"This submission is {submission.state}, which cannot be reviewed.", code="not_reviewable")
    history = await list_events(db, submission_id)
    commit = _commit(submission, history)
    scans = await list_scans(db, submission.content_digest) if submission.content_digest else []
    if submission.content_digest is None or commit is None or not any(map(_is_static_result, scans)):
        raise Conflict(
            "This submission was refused before its files were examined. Submit it again.", code="not_examined"
        )
    return ExaminedContent(submission, submission.content_digest, commit, scans)


def _is_static_result(scan: Scan) -> bool:
    return scan.tier == 1 and scan.score is not None


def _commit(submission: Submission, history: Sequence[SubmissionEvent]) -> str | None:
    """Return the commit of the content; None if the digest is from an earlier cycle than the current refusal."""
    if submission.state is State.REJECTED and history[-1].metadata.get("digest") != submission.content_digest:
        return None
    return next((str(each.metadata["commit"]) for each in reversed(history) if each.metadata.get("commit")), None)
