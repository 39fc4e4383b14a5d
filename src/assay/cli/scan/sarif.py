"""A scan as SARIF 2.1.0, the format in which code hosts take the results of scanners."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from assay import __version__
from assay.cli.scan.outcome import Scan
from assay.cli.scan.place import WORKING_DIRECTORY, Root
from assay.cli.scan.skill import Examined, Failed
from assay.model.finding import Finding, Severity
from assay.scan.rule import Rule
from assay.scan.scan import ENGINE

Json = dict[str, Any]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
# The name by which code hosts know the top of a checkout.
WORKING_BASE = "%SRCROOT%"
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


def scan_log(scan: Scan) -> Json:
    """One run: all rules, all findings of all skills, and what could not be scanned."""
    bases = _bases(scan)
    rules = {rule.id: number for number, rule in enumerate(scan.ruleset.rules)}
    run: Json = {
        "tool": {"driver": _driver(scan)},
        "invocations": [_invocation(scan)],
        "originalUriBaseIds": {base: _base(root) for root, base in bases.items()},
        "columnKind": "unicodeCodePoints",
        "results": [result for skill in scan.examined for result in _results(skill, rules, bases[skill.place.root])],
    }
    if origins := [_origin(root, base) for root, base in bases.items() if root.repository]:
        run["versionControlProvenance"] = origins
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _driver(scan: Scan) -> Json:
    return {
        "name": "Assay",
        "version": __version__,
        "properties": {"engine": ENGINE, "ruleset": scan.ruleset.version},
        "rules": [_rule(rule) for rule in scan.ruleset.rules],
    }


def _rule(rule: Rule) -> Json:
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


def _results(skill: Examined, rules: Mapping[str, int], base: str) -> Iterator[Json]:
    seen = Counter[str]()
    for finding in skill.report.findings:
        path = skill.place.path_of(finding.file)
        fingerprint = _fingerprint(finding, path, seen)
        region: Json = {"startLine": finding.line}
        if finding.excerpt:
            region["snippet"] = {"text": finding.excerpt}
        result: Json = {
            "ruleId": finding.rule_id,
            "level": LEVELS[finding.severity],
            "message": {"text": f"{finding.message.rstrip('.')}. {' '.join(finding.remediation.split())}"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": quote(path), "uriBaseId": base},
                        "region": region,
                    }
                }
            ],
            "partialFingerprints": {FINGERPRINT: fingerprint},
            "rank": round(finding.confidence * 100, 1),
            "properties": {
                "skill": skill.name,
                "severity": finding.severity,
                "confidence": finding.confidence,
                "region": finding.region,
            },
        }
        if finding.rule_id in rules:
            result["ruleIndex"] = rules[finding.rule_id]
        yield result


def _fingerprint(finding: Finding, path: str, seen: Counter[str]) -> str:
    """Rule, file and text, but no line: what only moves is the same finding. Equal ones of a file are counted."""
    text = "\0".join((finding.rule_id, path, finding.excerpt or finding.message))
    seen[text] += 1
    return hashlib.sha256(f"{text}\0{seen[text]}".encode(errors="surrogateescape")).hexdigest()[:32]


def _invocation(scan: Scan) -> Json:
    is_whole = not scan.failed and all(each.is_complete for each in scan.examined)
    return {
        "executionSuccessful": is_whole,
        "exitCode": int(scan.exit),
        "toolExecutionNotifications": [_notification(each) for each in scan.failed],
    }


def _notification(failed: Failed) -> Json:
    return {
        "level": "error",
        "message": {"text": f"{failed.where}: {failed.message}"},
        "descriptor": {"id": failed.code},
    }


def _bases(scan: Scan) -> dict[Root, str]:
    roots = list(dict.fromkeys([WORKING_DIRECTORY, *(each.place.root for each in scan.examined)]))
    return {root: f"ROOT{number}" if number else WORKING_BASE for number, root in enumerate(roots)}


def _base(root: Root) -> Json:
    described: Json = {"description": {"text": root.label or "The folder in which the scan was started."}}
    return described | ({"uri": root.uri} if root.uri else {})


def _origin(root: Root, base: str) -> Json:
    return {"repositoryUri": root.repository, "revisionId": root.commit, "mappedTo": {"uriBaseId": base}}
