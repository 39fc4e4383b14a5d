"""A scan for programs: one JSON document, in the words of the API."""

from typing import Any

import msgspec

from assay import __version__
from assay.cli.scan.outcome import Scan
from assay.cli.scan.skill import Examined, Failed
from assay.model.capability import Capabilities
from assay.model.finding import Finding
from assay.model.verdict import Outcome
from assay.scan.rule import Rule
from assay.scan.scan import ENGINE


class CapabilitiesShown(msgspec.Struct, rename="camel"):
    """What a skill reaches for, whether or not that is bad."""

    hosts: tuple[str, ...]
    programs: tuple[str, ...]
    environment: tuple[str, ...]
    outside_files: tuple[str, ...]
    tools: tuple[str, ...]


class FindingShown(msgspec.Struct, rename="camel"):
    """What a rule saw; `replaces` are the ids by which older scanners knew the rule."""

    rule_id: str
    replaces: tuple[str, ...]
    references: tuple[str, ...]
    family: str
    severity: str
    confidence: float
    file: str
    line: int
    excerpt: str
    message: str
    rationale: str | None
    remediation: str
    region: str | None


class SkillShown(msgspec.Struct, rename="camel"):
    """A skill that was scanned; files of findings are counted from its folder."""

    name: str
    place: str
    commit: str | None
    digest: str
    outcome: str
    score: int
    decision: str
    reason: str | None
    has_code: bool
    findings: list[FindingShown]
    capabilities: CapabilitiesShown


class ErrorShown(msgspec.Struct, rename="camel"):
    """What was to be scanned and could not be."""

    place: str
    code: str
    message: str


class ScanShown(msgspec.Struct, rename="camel"):
    """One call of the command; equal skills and rules give an equal document."""

    format_version: int
    version: str
    engine: str
    ruleset: str
    fail_on: str
    exit_code: int
    counts: dict[str, int]
    skills: list[SkillShown]
    errors: list[ErrorShown]


def scan_document(scan: Scan) -> Any:
    """What is printed as JSON."""
    rules = {rule.id: rule for rule in scan.ruleset.rules}
    words = (Outcome.PASS, Outcome.CONCERNS, Outcome.FAIL)
    shown = ScanShown(
        format_version=1,
        version=__version__,
        engine=ENGINE,
        ruleset=scan.ruleset.version,
        fail_on=scan.fail_on,
        exit_code=int(scan.exit),
        counts={word.lower(): scan.counts[word] for word in words} | {"error": len(scan.failed)},
        skills=[_skill(each, rules) for each in scan.examined],
        errors=[_error(each) for each in scan.failed],
    )
    return msgspec.to_builtins(shown)


def _skill(skill: Examined, rules: dict[str, Rule]) -> SkillShown:
    report, verdict = skill.report, skill.verdict
    return SkillShown(
        name=skill.name,
        place=str(skill.place),
        commit=skill.place.root.commit,
        digest=report.digest,
        outcome=verdict.outcome,
        score=verdict.score,
        decision=verdict.decision,
        reason=verdict.reason.message if verdict.reason else None,
        has_code=report.has_code,
        findings=[_finding(each, rules.get(each.rule_id)) for each in report.findings],
        capabilities=_capabilities(report.capabilities),
    )


def _finding(finding: Finding, rule: Rule | None) -> FindingShown:
    return FindingShown(
        rule_id=finding.rule_id,
        replaces=rule.replaces if rule else (),
        references=rule.references if rule else (),
        family=finding.family,
        severity=finding.severity,
        confidence=finding.confidence,
        file=finding.file,
        line=finding.line,
        excerpt=finding.excerpt,
        message=finding.message,
        rationale=rule.rationale.strip() if rule else None,
        remediation=finding.remediation,
        region=finding.region,
    )


def _capabilities(capabilities: Capabilities) -> CapabilitiesShown:
    return CapabilitiesShown(
        hosts=capabilities.hosts,
        programs=capabilities.programs,
        environment=capabilities.environment,
        outside_files=capabilities.outside_files,
        tools=capabilities.tools,
    )


def _error(failed: Failed) -> ErrorShown:
    return ErrorShown(failed.where, failed.code, failed.message)
