"""JSON of findings, capabilities and scans."""

from datetime import datetime
from typing import Annotated

import msgspec

from assay.llm.prices import MICROS
from assay.model.finding import Capabilities, Finding, Region, Severity
from assay.model.moderation import NO_DECISIONS, HumanDecisions
from assay.model.verdict import Outcome, Ruling, Scan, Usage
from assay.scan.scan import ENGINE
from assay.web.http.json import View


class SuppressedView(View, frozen=True):
    """A reviewer's decision that a finding does not count until a date."""

    until: datetime
    by: str
    reason: str


class FindingView(View, frozen=True):
    """A match of one rule. `region` is the kind of text that the line belongs to, such as a code fence; it is null if
    the finding is about a whole file or skill.
    """

    rule_id: str
    family: str
    severity: Severity
    confidence: Annotated[float, msgspec.Meta(description="Between 0 and 1.")]
    file: str
    line: int
    excerpt: str
    message: str
    remediation: str
    region: Region | None
    suppressed: SuppressedView | None


class CapabilitiesView(View, frozen=True):
    """The capabilities that the files of a skill show: hosts it names, programs it runs, environment variables it
    reads, files outside its own folder, and tools it requests from its agent.

    Each list is sorted and has at most 200 names.
    """

    hosts: list[str]
    programs: list[str]
    environment: list[str]
    outside_files: list[str]
    tools: list[str]


class RulingView(View, frozen=True):
    """The judge's opinion on one finding of the static scan."""

    rule_id: str
    file: str
    line: int
    ruling: Ruling
    reason: str


class CostView(View, frozen=True):
    """The cost of a judgement: tokens, and money in the currency of the registry's price list."""

    prompt_tokens: int
    completion_tokens: int
    cost: float


class ScanView(View, frozen=True):
    """One scan of a skill. `outcome` ERROR means that the scanner failed, which is not a verdict; `problem` says how.

    A scan is `stale` if it was made with an earlier ruleset; the content will be scanned again. A judgement (tier 2)
    also has the `model` that answered, its cost, and its `rulings` on the findings of the static scan; its `ruleset`
    names the version of the prompt.
    """

    tier: int
    engine: str
    ruleset: str
    outcome: Outcome
    score: int | None
    path: str | None
    duration_ms: float
    created_at: datetime
    capabilities: CapabilitiesView
    findings: list[FindingView]
    stale: bool
    model: str | None
    cost: CostView | None
    rulings: list[RulingView]
    problem: str | None


def present_finding(finding: Finding, decisions: HumanDecisions = NO_DECISIONS) -> FindingView:
    return FindingView.of(finding, suppressed=decisions.suppression_of(finding))


def present_capabilities(capabilities: Capabilities) -> CapabilitiesView:
    return CapabilitiesView.of(capabilities)


def present_scan(scan: Scan, ruleset: str, decisions: HumanDecisions) -> ScanView:
    """Convert a scan; it is stale unless it was made with this ruleset."""
    report = scan.report
    return ScanView.of(
        scan,
        engine=report.engine,
        ruleset=report.ruleset,
        duration_ms=report.duration_ms,
        capabilities=report.capabilities,
        findings=[present_finding(finding, decisions) for finding in report.findings],
        stale=scan.tier == 1 and (report.engine, report.ruleset) != (ENGINE, ruleset),
        cost=_present_cost(scan.usage),
    )


def _present_cost(usage: Usage | None) -> CostView | None:
    return CostView.of(usage, cost=usage.cost_micros / MICROS) if usage else None
