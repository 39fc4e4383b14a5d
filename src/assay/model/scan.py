"""A scan as it is kept: which tier looked, what it said, when."""

from dataclasses import dataclass
from datetime import datetime

from assay.model.finding import Report
from assay.model.judgement import Ruled, Usage
from assay.model.verdict import Decision, Outcome


@dataclass(frozen=True, slots=True)
class Scan:
    """One examination of one content. ERROR is a scanner that failed; it has no score and no decision."""

    id: int
    tier: int
    outcome: Outcome
    decision: Decision | None
    score: int | None
    path: str | None
    report: Report
    created_at: datetime
    # Of a judge: the model that answered, what that cost, and what it said to the findings of the static scan.
    model: str | None = None
    usage: Usage | None = None
    rulings: tuple[Ruled, ...] = ()
    # Why it failed.
    problem: str | None = None
