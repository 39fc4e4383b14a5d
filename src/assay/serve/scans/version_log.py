"""The SARIF log of a published version: one run per scan of every tier, with suppressed findings marked."""

from collections import Counter
from collections.abc import Callable, Sequence

from assay import __version__
from assay.model.deep_scan import DeepScan, DeepStatus
from assay.model.finding import Finding
from assay.model.moderation import HumanDecisions
from assay.model.verdict import Outcome, Ruling, Scan
from assay.scan.ruleset import Ruleset
from assay.serve.scans.sarif import SCHEMA, Json, result_of, rule_of

BASE = "SKILLROOT"
# Other statuses have no run: an empty run would mean that the tool found nothing.
LOOKED = frozenset({DeepStatus.CLEAN, DeepStatus.FINDINGS, DeepStatus.ERROR})
# Returns why a finding does not count, or None.
Excuse = Callable[[Finding], str | None]


def version_log(
    name: str,
    version: str,
    scans: Sequence[Scan],
    deep_scans: Sequence[DeepScan],
    decisions: HumanDecisions,
    ruleset: Ruleset,
) -> Json:
    """Each run names its tier, engine and ruleset."""
    excuse = _excuses(scans, decisions)
    looked = [scan for scan in deep_scans if scan.status in LOOKED]
    runs = [_run(name, scan, ruleset, excuse) for scan in scans] + [_deep_run(name, scan) for scan in looked]
    for run in runs:
        run["originalUriBaseIds"] = {BASE: {"description": {"text": f"The folder of {name} {version}."}}}
        run["columnKind"] = "unicodeCodePoints"
        run["properties"] |= {"skill": name, "version": version}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": runs}


def _excuses(scans: Sequence[Scan], decisions: HumanDecisions) -> Excuse:
    """Return the excuse for findings that a reviewer suppressed or that the latest judgement refuted."""
    judged = next((scan for scan in scans if scan.tier == 2 and scan.outcome is not Outcome.ERROR), None)
    rulings = judged.rulings if judged else ()
    refuted = {each.key: each.reason for each in rulings if each.ruling is Ruling.REFUTED}

    def excuse(finding: Finding) -> str | None:
        suppression = decisions.suppression_of(finding)
        if suppression is not None:
            return f"Suppressed until {suppression.until:%Y-%m-%d}: {suppression.reason}"
        why = refuted.get((finding.rule_id, finding.file, finding.line))
        return None if why is None else f"Refuted by the judge: {why}"

    return excuse


def _run(name: str, scan: Scan, ruleset: Ruleset, excuse: Excuse) -> Json:
    report = scan.report
    known = {rule.id: rule for rule in ruleset.rules} if report.ruleset == ruleset.version else {}
    about: Json = {"engine": report.engine, "ruleset": report.ruleset, "tier": scan.tier}
    if scan.model:
        about["model"] = scan.model
    rules = [rule_of(known[each]) if each in known else {"id": each} for each in _ids(report.findings)]
    failure = (scan.problem or "failed") if scan.outcome is Outcome.ERROR else None
    return {
        "tool": {"driver": {"name": "Assay", "version": __version__, "properties": about, "rules": rules}},
        "invocations": [_invocation(failure)],
        "properties": {"contentDigest": report.digest, "score": scan.score},
        "results": _results(name, report.findings, excuse),
    }


def _deep_run(name: str, scan: DeepScan) -> Json:
    driver: Json = {
        "name": scan.tool.value,
        "properties": {"engine": scan.tool.value, "tier": 3},
        "rules": [{"id": each} for each in _ids(scan.findings)],
    }
    if scan.tool_version:
        driver["version"] = scan.tool_version
    return {
        "tool": {"driver": driver},
        "invocations": [_invocation(scan.error)],
        "properties": {"contentDigest": scan.content_digest, "leftOut": scan.left_out},
        "results": _results(name, scan.findings, lambda _: None),
    }


def _invocation(failure: str | None) -> Json:
    if failure is None:
        return {"executionSuccessful": True}
    notifications = [{"level": "error", "message": {"text": failure}}]
    return {"executionSuccessful": False, "toolExecutionNotifications": notifications}


def _results(name: str, findings: Sequence[Finding], excuse: Excuse) -> list[Json]:
    ids, seen = _ids(findings), Counter[str]()
    # SARIF requires `suppressions` on all results of a run or on none; an empty list means not suppressed.
    return [
        result_of(finding, finding.file, BASE, seen, name)
        | {"ruleIndex": ids.index(finding.rule_id), "suppressions": _suppressions(excuse(finding))}
        for finding in findings
    ]


def _suppressions(why: str | None) -> list[Json]:
    return [] if why is None else [{"kind": "external", "status": "accepted", "justification": why}]


def _ids(findings: Sequence[Finding]) -> list[str]:
    return list(dict.fromkeys(finding.rule_id for finding in findings))
