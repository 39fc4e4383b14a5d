"""The finding for content that was not examined, so that a gap is never silent."""

from assay.model.finding import Finding, Severity

# The policy does not approve content with findings of this family.
UNEXAMINED = "unexamined"


def unexamined(path: str, why: str, line: int = 1) -> Finding:
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
