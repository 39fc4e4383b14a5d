"""A judgement: what a language model said of a skill, after its answers were checked."""

from dataclasses import dataclass
from enum import StrEnum

from assay.model.finding import Finding

# The family of findings about the judging itself, in which nothing is a pass.
INTEGRITY = "judge_integrity"
STEERED, UNREAD, TOO_LARGE, ADDRESSED = "judge-steered", "judge-unread", "judge-too-large", "judge-addressed"
# What a judge is: the prefix of its engine, before the name of the model.
ENGINE_PREFIX = "llm/"


class Ruling(StrEnum):
    """What the model says to a finding of the static scan."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Ruled:
    """One finding of the static scan, and what the model says to it."""

    rule_id: str
    file: str
    line: int
    ruling: Ruling
    reason: str

    @property
    def key(self) -> tuple[str, str, int]:
        """Which finding is meant."""
        return self.rule_id, self.file, self.line


@dataclass(frozen=True, slots=True)
class Usage:
    """What the answers cost. Estimated: the endpoint did not say it, or said what cannot be."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    # Millionths of the unit in which prices are given.
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
    """Everything one model, asked in one way, has to say about one content digest."""

    engine: str
    # The version of the questions: a digest over all their words.
    prompt: str
    digest: str
    findings: tuple[Finding, ...]
    rulings: tuple[Ruled, ...]
    # As the endpoint calls the one that answered.
    model: str
    usage: Usage
    duration_ms: float
    # Why there is no judgement, if the judge has failed for longer than one waits for it.
    problem: str | None = None

    @property
    def integrity(self) -> tuple[Finding, ...]:
        """What is wrong with the judging itself."""
        return tuple(finding for finding in self.findings if finding.family == INTEGRITY)
