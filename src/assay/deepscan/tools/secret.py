"""What is said of a secret that was found: its kind and its place, and never the secret."""

from assay.deepscan.excerpt import LONGEST_NAME, plain
from assay.model.finding import Finding, Severity

FAMILY = "secret"
# Put together here, so that no scanner finds it in this file. It opens nothing.
_HEAD, _TAIL = "-----BEGIN RSA PRIVATE" + " KEY-----", "-----END RSA PRIVATE" + " KEY-----"
_BODY = "MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7bTq5KpY2mV0cX9rL\n" * 12
CANARY = ("canary.txt", f"{_HEAD}\n{_BODY}{_TAIL}\n".encode())


def secret_finding(rule_id: str, kind: str, line: int, *, is_sure: bool) -> Finding:
    """A secret in a file; nobody has tried it out."""
    return Finding(
        rule_id=plain(rule_id, LONGEST_NAME),
        family=FAMILY,
        severity=Severity.HIGH if is_sure else Severity.MEDIUM,
        confidence=0.8 if is_sure else 0.5,
        file="",
        line=max(1, line),
        excerpt="",
        message=plain(f"This looks like a secret: {kind}. It is not shown here.", LONGEST_NAME),
        remediation="Revoke it where it was issued, then take it out of the skill.",
    )
