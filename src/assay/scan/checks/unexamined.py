"""What was not examined is a finding, never silence."""

from assay.model.finding import Finding, Severity

# The judge knows this family: what could not be examined is not approved.
UNEXAMINED = "unexamined"


def unexamined(path: str, why: str, line: int = 1) -> Finding:
    """A finding that says so of a file."""
    return Finding(
        rule_id="UX-000",
        family=UNEXAMINED,
        severity=Severity.HIGH,
        confidence=1.0,
        file=path,
        line=line,
        excerpt="",
        message=f"Not examined to the end: {why}",
        remediation="A reviewer looks at the file; to be examined without one, make it simpler.",
    )
