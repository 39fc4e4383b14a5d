"""SARIF 2.1.0: rules and findings in the format that code hosts import."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from assay.model.finding import Finding, Severity
from assay.scan.rule import Rule

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
# CVSS scores, from which code hosts derive the severity; informational findings have none.
SECURITY_SEVERITIES: Mapping[Severity, str] = {
    Severity.CRITICAL: "9.5",
    Severity.HIGH: "8.0",
    Severity.MEDIUM: "5.5",
    Severity.LOW: "2.5",
}
CWE = re.compile(r"CWE-(\d+)")


def rule_of(rule: Rule) -> Json:
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
    """Return a SARIF result; `seen` counts equal findings in a file."""
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
    """Return a fingerprint of rule, file and text without the line, so that a moved finding keeps it.

    Equal findings in a file are numbered by `seen`.
    """
    text = "\0".join((finding.rule_id, path, finding.excerpt or finding.message))
    seen[text] += 1
    return hashlib.sha256(f"{text}\0{seen[text]}".encode(errors="surrogateescape")).hexdigest()[:32]
