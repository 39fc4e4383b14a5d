"""A scan as SARIF 2.1.0, the format that code hosts accept from scanners."""

from collections import Counter
from collections.abc import Iterator, Mapping

from assay import __version__
from assay.cli.scan.outcome import ScanRun
from assay.cli.scan.skill import WORKING_DIRECTORY, FailedSkill, ScannedSkill, ScanRoot
from assay.scan.scan import ENGINE
from assay.serve.scans.sarif import SCHEMA, Json, result_of, rule_of

# The base id that code hosts resolve to the top of a checkout.
WORKING_BASE = "%SRCROOT%"


def scan_log(scan: ScanRun) -> Json:
    """Return a SARIF log with one run: all rules, all findings, and a notification per skill that failed."""
    bases = _bases(scan)
    rules = {rule.id: number for number, rule in enumerate(scan.ruleset.rules)}
    run: Json = {
        "tool": {"driver": _driver(scan)},
        "invocations": [_invocation(scan)],
        "originalUriBaseIds": {base: _base(root) for root, base in bases.items()},
        "columnKind": "unicodeCodePoints",
        "results": [result for skill in scan.scanned for result in _results(skill, rules, bases[skill.location.root])],
    }
    if origins := [_origin(root, base) for root, base in bases.items() if root.repository]:
        run["versionControlProvenance"] = origins
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _driver(scan: ScanRun) -> Json:
    return {
        "name": "Assay",
        "version": __version__,
        "properties": {"engine": ENGINE, "ruleset": scan.ruleset.version},
        "rules": [rule_of(rule) for rule in scan.ruleset.rules],
    }


def _results(skill: ScannedSkill, rules: Mapping[str, int], base: str) -> Iterator[Json]:
    seen = Counter[str]()
    for finding in skill.report.findings:
        result = result_of(finding, skill.location.path_of(finding.file), base, seen, skill.name)
        if finding.rule_id in rules:
            result["ruleIndex"] = rules[finding.rule_id]
        yield result


def _invocation(scan: ScanRun) -> Json:
    is_complete = not scan.failed and all(each.is_complete for each in scan.scanned)
    return {
        "executionSuccessful": is_complete,
        "exitCode": int(scan.exit),
        "toolExecutionNotifications": [_notification(each) for each in scan.failed],
    }


def _notification(failed: FailedSkill) -> Json:
    return {
        "level": "error",
        "message": {"text": f"{failed.where}: {failed.message}"},
        "descriptor": {"id": failed.code},
    }


def _bases(scan: ScanRun) -> dict[ScanRoot, str]:
    roots = list(dict.fromkeys([WORKING_DIRECTORY, *(each.location.root for each in scan.scanned)]))
    return {root: f"ROOT{number}" if number else WORKING_BASE for number, root in enumerate(roots)}


def _base(root: ScanRoot) -> Json:
    described: Json = {"description": {"text": root.label or "The folder in which the scan was started."}}
    return described | ({"uri": root.uri} if root.uri else {})


def _origin(root: ScanRoot, base: str) -> Json:
    return {"repositoryUri": root.repository, "revisionId": root.commit, "mappedTo": {"uriBaseId": base}}
