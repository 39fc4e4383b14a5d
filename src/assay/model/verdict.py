"""A verdict: what the findings mean."""

from dataclasses import dataclass
from enum import StrEnum

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


@dataclass(frozen=True, slots=True)
class Verdict:
    """The weighed findings: a score, a word, a decision, the path it took, and a reason unless it approves."""

    score: int
    outcome: Outcome
    decision: Decision
    path: str
    reason: Reason | None
