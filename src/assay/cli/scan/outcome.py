"""A whole scan: its results in order, and whether they are over the line that the caller drew."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from assay.cli.scan.skill import Examined, Failed, Result
from assay.cli.ui.exits import Exit, worst
from assay.model.finding import Severity
from assay.model.verdict import Outcome
from assay.scan.ruleset import Ruleset

SEVERITIES = tuple(Severity)


class FailOn(StrEnum):
    """The line: a verdict, or the severity of any one finding however unsure it is."""

    CONCERNS = "concerns"
    FAIL = "fail"
    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"
    NEVER = "never"


@dataclass(frozen=True)
class Scan:
    """Everything that one call of the command found."""

    ruleset: Ruleset
    fail_on: FailOn
    results: tuple[Result, ...]

    @property
    def examined(self) -> list[Examined]:
        """Those with a verdict."""
        return [each for each in self.results if isinstance(each, Examined)]

    @property
    def failed(self) -> list[Failed]:
        """Those without."""
        return [each for each in self.results if isinstance(each, Failed)]

    @property
    def counts(self) -> Counter[Outcome]:
        """How many skills have which verdict."""
        return Counter(each.verdict.outcome for each in self.examined)

    @property
    def exit(self) -> Exit:
        """The one code of all results."""
        return worst(_exit(each, self.fail_on) for each in self.results)


def _exit(result: Result, fail_on: FailOn) -> Exit:
    if isinstance(result, Failed):
        return result.exit
    if is_over(result, fail_on):
        return Exit.REFUSED
    return Exit.DONE if result.is_complete else Exit.NOT_EXAMINED


def is_over(result: Examined, fail_on: FailOn) -> bool:
    """Whether the line is reached or crossed."""
    match fail_on:
        case FailOn.NEVER:
            return False
        case FailOn.FAIL:
            return result.verdict.outcome is Outcome.FAIL
        case FailOn.CONCERNS:
            return result.verdict.outcome is not Outcome.PASS
        case _:
            least = SEVERITIES.index(Severity(fail_on))
            return any(SEVERITIES.index(finding.severity) <= least for finding in result.report.findings)
