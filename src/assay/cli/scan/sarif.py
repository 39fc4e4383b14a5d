"""A scan as SARIF 2.1.0, the format in which code hosts take the results of scanners."""

from collections import Counter
from collections.abc import Iterator, Mapping

from assay import __version__
from assay.cli.scan.outcome import Scan
from assay.cli.scan.place import WORKING_DIRECTORY, Root
from assay.cli.scan.skill import Examined, Failed
from assay.scan.scan import ENGINE
from assay.serve.scans.sarif import SCHEMA, Json, result_of, rule_of

# The name by which code hosts know the top of a checkout.
WORKING_BASE = "%SRCROOT%"


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
        "rules": [rule_of(rule) for rule in scan.ruleset.rules],
    }


def _results(skill: Examined, rules: Mapping[str, int], base: str) -> Iterator[Json]:
    seen = Counter[str]()
    for finding in skill.report.findings:
        result = result_of(finding, skill.place.path_of(finding.file), base, seen, skill.name)
        if finding.rule_id in rules:
            result["ruleIndex"] = rules[finding.rule_id]
        yield result


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
