"""What a reviewer decides about: the bytes that were examined, and what was found in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Conflict
from assay.model.review import seen_as
from assay.model.scan import Scan
from assay.model.submission import State, Submission, SubmissionEvent
from assay.store.scans.scans import list_scans
from assay.store.submissions.events import list_events
from assay.store.submissions.submissions import get_submission

# What a person may still decide. Everything else is under way, published, or an operator's to let go.
OPEN_TO_REVIEW = frozenset({State.NEEDS_REVIEW, State.TIER1_FAILED, State.REJECTED})


@dataclass(frozen=True)
class ExaminedContent:
    """A submission whose present verdict is about these bytes, from this commit, with these scans, newest first."""

    submission: Submission
    digest: str
    commit: str
    scans: Sequence[Scan]

    @property
    def scan(self) -> Scan:
        """The last static scan that came to an end, which every content has."""
        return next(each for each in self.scans if _has_seen_it(each))

    @property
    def seen(self) -> frozenset[str]:
        """Every finding, as a reviewer remembers it."""
        return frozenset(seen_as(finding) for scan in self.scans for finding in scan.report.findings)


async def read_examined(db: AsyncConnection, submission_id: UUID) -> ExaminedContent:
    """What there is to decide about. Raises Conflict if nothing was examined, or it is not open to a decision."""
    submission = await get_submission(db, submission_id)
    if submission.state not in OPEN_TO_REVIEW:
        raise Conflict(f"It is {submission.state}: there is nothing to decide.", code="not_reviewable")
    history = await list_events(db, submission_id)
    commit = _commit(submission, history)
    scans = await list_scans(db, submission.content_digest) if submission.content_digest else []
    if submission.content_digest is None or commit is None or not any(map(_has_seen_it, scans)):
        raise Conflict(
            "It was refused before its files were examined; it has to be submitted again.", code="not_examined"
        )
    return ExaminedContent(submission, submission.content_digest, commit, scans)


def _has_seen_it(scan: Scan) -> bool:
    return scan.tier == 1 and scan.score is not None


def _commit(submission: Submission, history: Sequence[SubmissionEvent]) -> str | None:
    """Where the bytes are from. What was refused for its source alone has a digest only from a round before."""
    if submission.state is State.REJECTED and history[-1].metadata.get("digest") != submission.content_digest:
        return None
    return next((str(each.metadata["commit"]) for each in reversed(history) if each.metadata.get("commit")), None)
