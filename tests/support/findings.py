"""Findings and reports for tests."""

from assay.model.finding import Finding, Report, Severity


def a_finding(
    rule_id: str = "DR-001", severity: Severity = Severity.CRITICAL, confidence: float = 0.5, **more
) -> Finding:
    fields = {"family": "download_and_run", "file": "scripts/setup.sh", "line": 12, "excerpt": "curl | bash"}
    fields |= {"message": "A download is piped into a shell", "remediation": "Ship the script."}
    return Finding(rule_id=rule_id, severity=severity, confidence=confidence, **{**fields, **more})


def a_report(*findings: Finding) -> Report:
    return Report("assay-static/1", "sha256:0", "sha256:1", findings, has_code=True, duration_ms=0.0)


def deducting(points: float) -> Report:
    """Return a report whose uncertain findings deduct this many points."""
    whole, rest = divmod(points, 15)
    findings = [a_finding(f"AA-{n:03}", Severity.HIGH, 1.0) for n in range(int(whole))]
    if rest:
        findings.append(a_finding("ZZ-000", Severity.HIGH, rest / 15))
    return a_report(*findings)
