"""Judgements, verdicts and recorded scans."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from assay.model.finding import Finding, Report
from assay.model.submission import Reason

# The family of findings about the judging itself; none of them counts as a pass.
INTEGRITY = "judge_integrity"
STEERED, UNREAD, TOO_LARGE, ADDRESSED = "judge-steered", "judge-unread", "judge-too-large", "judge-addressed"
# Prefix of a judge's engine name, before the name of the model.
ENGINE_PREFIX = "llm/"
# Engine and prompt digest of a judge.
JudgeKey = tuple[str, str]


class Ruling(StrEnum):
    """The ruling of the judge on a finding of the static scan."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class FindingRuling:
    """The ruling of the judge on one finding."""

    rule_id: str
    file: str
    line: int
    ruling: Ruling
    reason: str

    @property
    def key(self) -> tuple[str, str, int]:
        return self.rule_id, self.file, self.line


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost of model calls; estimated if the endpoint reported no or implausible numbers."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    # Millionths of the currency unit of the prices.
    cost_micros: int = 0
    is_estimated: bool = False

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cost_micros + other.cost_micros,
            self.is_estimated or other.is_estimated,
        )


@dataclass(frozen=True, slots=True)
class Judgement:
    """The checked result of one model and one prompt for a skill's content."""

    engine: str
    # Digest of the prompt texts.
    prompt: str
    digest: str
    findings: tuple[Finding, ...]
    rulings: tuple[FindingRuling, ...]
    # The name of the model as reported by the endpoint.
    model: str
    usage: Usage
    duration_ms: float
    # The error, if the judge failed for longer than the configured patience.
    problem: str | None = None

    @property
    def integrity(self) -> tuple[Finding, ...]:
        """Findings about the judging itself."""
        return tuple(finding for finding in self.findings if finding.family == INTEGRITY)


class Outcome(StrEnum):
    """The outcome of a scan. `ERROR` means that the scanner failed and says nothing about the skill."""

    PASS = "PASS"  # noqa: S105 - a word on a report
    CONCERNS = "CONCERNS"
    FAIL = "FAIL"
    ERROR = "ERROR"


class Decision(StrEnum):
    """The decision about a submission."""

    APPROVE = "approve"
    REVIEW = "review"
    REFUSE = "refuse"


class Path(StrEnum):
    """The way to a decision."""

    # By the static scan alone: no judge is configured, or it was not needed.
    STATIC = "static-only"
    # By the static scan alone for now; the judge runs later.
    FAST_APPROVE = "fast-approve"
    JUDGED = "judged"
    REVIEWED = "reviewed"
    # With suppressed findings left out.
    SUPPRESSED = "suppressed"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Score, outcome, decision and path for a skill's content; `reason` is set unless the decision is to approve."""

    score: int
    outcome: Outcome
    decision: Decision
    path: Path
    reason: Reason | None


@dataclass(frozen=True)
class Assessment:
    """A report with its judgement and verdict. `static` is the verdict of the static scan alone, as stored with it."""

    report: Report
    judgement: Judgement | None
    verdict: Verdict
    static: Verdict


@dataclass(frozen=True, slots=True)
class Scan:
    """A stored scan of a skill's content. A scan with outcome ERROR has no score and no decision."""

    id: int
    tier: int
    outcome: Outcome
    decision: Decision | None
    score: int | None
    path: str | None
    report: Report
    created_at: datetime
    # Of the judge only: the model that answered, its usage, and its rulings on the findings of the static scan.
    model: str | None = None
    usage: Usage | None = None
    rulings: tuple[FindingRuling, ...] = ()
    # The error of a failed scan.
    problem: str | None = None
