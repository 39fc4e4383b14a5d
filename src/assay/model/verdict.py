"""A verdict: what the findings mean."""

from dataclasses import dataclass
from enum import StrEnum

from assay.model.finding import Report
from assay.model.judgement import Judgement
from assay.model.submission import Reason


class Outcome(StrEnum):
    """The word on the report. ERROR is a scanner that failed, never a judgement of the skill."""

    PASS = "PASS"  # noqa: S105 - a word on a report
    CONCERNS = "CONCERNS"
    FAIL = "FAIL"
    ERROR = "ERROR"


class Decision(StrEnum):
    """What happens to the submission."""

    APPROVE = "approve"
    REVIEW = "review"
    REFUSE = "refuse"


class Path(StrEnum):
    """Who has looked before it was decided."""

    # The static scan alone, because there is no judge or it was not needed.
    STATIC = "static-only"
    # The static scan alone, for now: the judge looks later.
    FAST_APPROVE = "fast-approve"
    JUDGED = "judged"
    REVIEWED = "reviewed"
    # Without findings that a reviewer has suppressed.
    SUPPRESSED = "suppressed"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The weighed findings: a score, a word, a decision, the path it took, and a reason unless it approves."""

    score: int
    outcome: Outcome
    decision: Decision
    path: Path
    reason: Reason | None


@dataclass(frozen=True)
class Weighed:
    """What was looked at and what it means. `static` is what the static scan alone says, which its record keeps; where
    nobody else has looked, that is the verdict.
    """

    report: Report
    judgement: Judgement | None
    verdict: Verdict
    static: Verdict
