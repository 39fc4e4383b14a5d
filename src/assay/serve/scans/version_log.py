"""The SARIF log of a published version: one run for every scan of every tier, and what does not count marked so."""

from collections import Counter
from collections.abc import Callable, Sequence

from assay import __version__
from assay.model.deep_scan import DeepScan, DeepStatus
from assay.model.finding import Finding
from assay.model.human_decisions import Said
from assay.model.judgement import Ruling
from assay.model.scan import Scan
from assay.model.verdict import Outcome
from assay.scan.ruleset import Ruleset
from assay.serve.scans.sarif import SCHEMA, Json, result_of, rule_of

BASE = "SKILLROOT"
# Only of a tool that has looked, or has failed: an empty run of one that has not would say that it found nothing.
LOOKED = frozenset({DeepStatus.CLEAN, DeepStatus.FINDINGS, DeepStatus.ERROR})
# Why a finding does not count, if it does not.
Excuse = Callable[[Finding], str | None]


def version_log(
    name: str, version: str, scans: Sequence[Scan], deep_scans: Sequence[DeepScan], said: Said, ruleset: Ruleset
) -> Json:
    """Each run with the tier, the engine and the rules that it was made by."""
    excuse = _excuses(scans, said)
    looked = [scan for scan in deep_scans if scan.status in LOOKED]
    runs = [_run(name, scan, ruleset, excuse) for scan in scans] + [_deep_run(name, scan) for scan in looked]
    for run in runs:
        run["originalUriBaseIds"] = {BASE: {"description": {"text": f"The folder of {name} {version}."}}}
        run["columnKind"] = "unicodeCodePoints"
        run["properties"] |= {"skill": name, "version": version}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": runs}


def _excuses(scans: Sequence[Scan], said: Said) -> Excuse:
    """What a person has suppressed, and what the judge, when it was last asked, has refuted."""
    judged = next((scan for scan in scans if scan.tier == 2 and scan.outcome is not Outcome.ERROR), None)
    rulings = judged.rulings if judged else ()
    refuted = {each.key: each.reason for each in rulings if each.ruling is Ruling.REFUTED}

    def excuse(finding: Finding) -> str | None:
        suppression = said.suppression_of(finding)
        if suppression is not None:
            return f"Suppressed until {suppression.until:%Y-%m-%d}: {suppression.reason}"
        why = refuted.get((finding.rule_id, finding.file, finding.line))
        return None if why is None else f"The judge has refuted it: {why}"

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
    said = [{"level": "error", "message": {"text": failure}}]
    return {"executionSuccessful": False, "toolExecutionNotifications": said}


def _results(name: str, findings: Sequence[Finding], excuse: Excuse) -> list[Json]:
    ids, seen = _ids(findings), Counter[str]()
    # With all of a run or with none, as the standard wants it: an empty list says that nothing excuses it.
    return [
        result_of(finding, finding.file, BASE, seen, name)
        | {"ruleIndex": ids.index(finding.rule_id), "suppressions": _suppressions(excuse(finding))}
        for finding in findings
    ]


def _suppressions(why: str | None) -> list[Json]:
    return [] if why is None else [{"kind": "external", "status": "accepted", "justification": why}]


def _ids(findings: Sequence[Finding]) -> list[str]:
    return list(dict.fromkeys(finding.rule_id for finding in findings))
