"""The results of a whole scan, and its exit code for the chosen threshold."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from assay.cli.scan.skill import FailedSkill, Result, ScannedSkill
from assay.cli.ui.exit_codes import Exit, most_severe
from assay.model.finding import Severity
from assay.model.verdict import Outcome
from assay.scan.ruleset import Ruleset

SEVERITIES = tuple(Severity)


class FailOn(StrEnum):
    """The threshold: a verdict, or the severity of any finding regardless of its confidence."""

    CONCERNS = "concerns"
    FAIL = "fail"
    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"
    NEVER = "never"


@dataclass(frozen=True)
class ScanRun:
    """The results of one run of the command."""

    ruleset: Ruleset
    fail_on: FailOn
    results: tuple[Result, ...]

    @property
    def scanned(self) -> list[ScannedSkill]:
        return [each for each in self.results if isinstance(each, ScannedSkill)]

    @property
    def failed(self) -> list[FailedSkill]:
        return [each for each in self.results if isinstance(each, FailedSkill)]

    @property
    def counts(self) -> Counter[Outcome]:
        return Counter(each.verdict.outcome for each in self.scanned)

    @property
    def exit(self) -> Exit:
        return most_severe(_exit(each, self.fail_on) for each in self.results)


def _exit(result: Result, fail_on: FailOn) -> Exit:
    if isinstance(result, FailedSkill):
        return result.exit
    if reaches_threshold(result, fail_on):
        return Exit.REFUSED
    return Exit.DONE if result.is_complete else Exit.NOT_SCANNED


def reaches_threshold(result: ScannedSkill, fail_on: FailOn) -> bool:
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
