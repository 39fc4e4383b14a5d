"""The JSON output of a scan, with the field names of the API."""

from typing import Any

import msgspec

from assay import __version__
from assay.cli.scan.outcome import ScanRun
from assay.cli.scan.skill import FailedSkill, ScannedSkill
from assay.model.finding import Capabilities, Finding
from assay.model.verdict import Outcome
from assay.scan.rule import Rule
from assay.scan.scan import ENGINE


class CapabilitiesJson(msgspec.Struct, rename="camel"):
    hosts: tuple[str, ...]
    programs: tuple[str, ...]
    environment: tuple[str, ...]
    outside_files: tuple[str, ...]
    tools: tuple[str, ...]


class FindingJson(msgspec.Struct, rename="camel"):
    """A finding; `replaces` are the ids of the rule in older scanners."""

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


class SkillJson(msgspec.Struct, rename="camel"):
    """A scanned skill; files of findings are relative to its folder."""

    name: str
    place: str
    commit: str | None
    digest: str
    outcome: str
    score: int
    decision: str
    reason: str | None
    has_code: bool
    findings: list[FindingJson]
    capabilities: CapabilitiesJson


class ErrorJson(msgspec.Struct, rename="camel"):
    """A skill that could not be scanned."""

    place: str
    code: str
    message: str


class ScanJson(msgspec.Struct, rename="camel"):
    """One run of the command; the same skills and rules always give the same document."""

    format_version: int
    version: str
    engine: str
    ruleset: str
    fail_on: str
    exit_code: int
    counts: dict[str, int]
    skills: list[SkillJson]
    errors: list[ErrorJson]


def scan_document(scan: ScanRun) -> Any:
    rules = {rule.id: rule for rule in scan.ruleset.rules}
    outcomes = (Outcome.PASS, Outcome.CONCERNS, Outcome.FAIL)
    document = ScanJson(
        format_version=1,
        version=__version__,
        engine=ENGINE,
        ruleset=scan.ruleset.version,
        fail_on=scan.fail_on,
        exit_code=int(scan.exit),
        counts={outcome.lower(): scan.counts[outcome] for outcome in outcomes} | {"error": len(scan.failed)},
        skills=[_skill(each, rules) for each in scan.scanned],
        errors=[_error(each) for each in scan.failed],
    )
    return msgspec.to_builtins(document)


def _skill(skill: ScannedSkill, rules: dict[str, Rule]) -> SkillJson:
    report, verdict = skill.report, skill.verdict
    return SkillJson(
        name=skill.name,
        place=str(skill.location),
        commit=skill.location.root.commit,
        digest=report.digest,
        outcome=verdict.outcome,
        score=verdict.score,
        decision=verdict.decision,
        reason=verdict.reason.message if verdict.reason else None,
        has_code=report.has_code,
        findings=[_finding(each, rules.get(each.rule_id)) for each in report.findings],
        capabilities=_capabilities(report.capabilities),
    )


def _finding(finding: Finding, rule: Rule | None) -> FindingJson:
    return FindingJson(
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


def _capabilities(capabilities: Capabilities) -> CapabilitiesJson:
    return CapabilitiesJson(
        hosts=capabilities.hosts,
        programs=capabilities.programs,
        environment=capabilities.environment,
        outside_files=capabilities.outside_files,
        tools=capabilities.tools,
    )


def _error(failed: FailedSkill) -> ErrorJson:
    return ErrorJson(failed.where, failed.code, failed.message)
