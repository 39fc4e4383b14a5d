"""SARIF 2.1.0: rules and findings in the format in which code hosts take them; and the log of a published version."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from assay import __version__
from assay.model.finding import Finding, Severity
from assay.model.scan import Scan
from assay.model.verdict import Outcome
from assay.scan.rule import Rule
from assay.scan.ruleset import Ruleset

Json = dict[str, Any]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "assayFinding/v1"
LEVELS: Mapping[Severity, str] = {
    Severity.CRITICAL: "error",
    Severity.HIGH: "error",
    Severity.MEDIUM: "warning",
    Severity.LOW: "note",
    Severity.INFO: "note",
}
# Numbers as of CVSS, by which code hosts name severities; what is only information has none.
SECURITY_SEVERITIES: Mapping[Severity, str] = {
    Severity.CRITICAL: "9.5",
    Severity.HIGH: "8.0",
    Severity.MEDIUM: "5.5",
    Severity.LOW: "2.5",
}
CWE = re.compile(r"CWE-(\d+)")


def rule_of(rule: Rule) -> Json:
    """One rule of the driver."""
    why, fix = (" ".join(text.split()) for text in (rule.rationale, rule.remediation))
    weaknesses = [f"external/cwe/cwe-{int(found[1]):03}" for each in rule.references if (found := CWE.fullmatch(each))]
    properties: Json = {
        "tags": ["security", rule.family, *weaknesses],
        "precision": _precision(rule.confidence),
        "references": list(rule.references),
        "replaces": list(rule.replaces),
    }
    if number := SECURITY_SEVERITIES.get(rule.severity):
        properties["security-severity"] = number
    return {
        "id": rule.id,
        "name": rule.family,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": why},
        "help": {"text": f"{why}\n\nHow to fix it: {fix}", "markdown": f"{why}\n\n**How to fix it:** {fix}"},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": properties,
    }


def _precision(confidence: float) -> str:
    if confidence >= 0.9:
        return "very-high"
    return "high" if confidence >= 0.7 else "medium" if confidence >= 0.4 else "low"


def result_of(finding: Finding, path: str, base: str, seen: Counter[str], skill: str) -> Json:
    """One finding; `seen` counts equal ones of a file."""
    region: Json = {"startLine": max(1, finding.line)}
    if finding.excerpt:
        region["snippet"] = {"text": finding.excerpt}
    return {
        "ruleId": finding.rule_id,
        "level": LEVELS[finding.severity],
        "message": {"text": f"{finding.message.rstrip('.')}. {' '.join(finding.remediation.split())}"},
        "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": quote(path), "uriBaseId": base}, "region": region}}
        ],
        "partialFingerprints": {FINGERPRINT: fingerprint_of(finding, path, seen)},
        "rank": round(finding.confidence * 100, 1),
        "properties": {
            "skill": skill,
            "severity": finding.severity,
            "confidence": finding.confidence,
            "region": finding.region,
        },
    }


def fingerprint_of(finding: Finding, path: str, seen: Counter[str]) -> str:
    """Rule, file and text, but no line: what only moves is the same finding. Equal ones of a file are counted."""
    text = "\0".join((finding.rule_id, path, finding.excerpt or finding.message))
    seen[text] += 1
    return hashlib.sha256(f"{text}\0{seen[text]}".encode(errors="surrogateescape")).hexdigest()[:32]


BASE = "SKILLROOT"


def version_log(name: str, version: str, scans: Sequence[Scan], ruleset: Ruleset) -> Json:
    """One run for every scan of a version, with the tier, the engine and the rules that it was made by."""
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(name, version, scan, ruleset) for scan in scans]}


def _run(name: str, version: str, scan: Scan, ruleset: Ruleset) -> Json:
    report, seen = scan.report, Counter[str]()
    known = {rule.id: rule for rule in ruleset.rules} if report.ruleset == ruleset.version else {}
    ids = list(dict.fromkeys(finding.rule_id for finding in report.findings))
    driver: Json = {
        "name": "Assay",
        "version": __version__,
        "properties": {"engine": report.engine, "ruleset": report.ruleset, "tier": scan.tier},
        "rules": [rule_of(known[each]) if each in known else {"id": each} for each in ids],
    }
    if scan.model:
        driver["properties"]["model"] = scan.model
    failed = scan.outcome is Outcome.ERROR
    invocation: Json = {"executionSuccessful": not failed}
    if failed:
        invocation["toolExecutionNotifications"] = [{"level": "error", "message": {"text": scan.problem or "failed"}}]
    results = [
        result_of(finding, finding.file, BASE, seen, name) | {"ruleIndex": ids.index(finding.rule_id)}
        for finding in report.findings
    ]
    return {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "originalUriBaseIds": {BASE: {"description": {"text": f"The folder of {name} {version}."}}},
        "columnKind": "unicodeCodePoints",
        "properties": {"skill": name, "version": version, "contentDigest": report.digest, "score": scan.score},
        "results": results,
    }
