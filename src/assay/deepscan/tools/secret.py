"""Findings about secrets: their kind and location, never the secret itself."""

from assay.deepscan.excerpt import LONGEST_NAME, printable_line
from assay.model.finding import Finding, Severity

FAMILY = "secret"
# Assembled here so that no scanner finds it in this file. It is not a valid key.
_HEAD, _TAIL = "-----BEGIN RSA PRIVATE" + " KEY-----", "-----END RSA PRIVATE" + " KEY-----"
_BODY = "MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7bTq5KpY2mV0cX9rL\n" * 12
CANARY = ("canary.txt", f"{_HEAD}\n{_BODY}{_TAIL}\n".encode())


def secret_finding(rule_id: str, kind: str, line: int, *, is_certain: bool) -> Finding:
    """Build a finding for a possible secret; its validity is unknown."""
    return Finding(
        rule_id=printable_line(rule_id, LONGEST_NAME),
        family=FAMILY,
        severity=Severity.HIGH if is_certain else Severity.MEDIUM,
        confidence=0.8 if is_certain else 0.5,
        file="",
        line=max(1, line),
        excerpt="",
        message=printable_line(
            f"The file appears to contain a secret of type {kind}. Its value is not shown here.", LONGEST_NAME
        ),
        remediation="Revoke the secret where it was issued, then remove it from the skill.",
    )
