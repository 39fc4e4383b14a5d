"""Signatures between the registry and its nodes: HMAC-SHA256 over the time and the raw body, with a common secret."""

import hashlib
import hmac
import re
from datetime import datetime, timedelta

from assay.model.errors import Unauthenticated

SIGNATURE_HEADER, TIMESTAMP_HEADER = "X-Webhook-Signature", "X-Webhook-Timestamp"
# How far the clocks of two machines, and the way between them, may be apart.
TOLERANCE = timedelta(minutes=5)
SCHEME = "sha256="
TIMESTAMP = re.compile(r"[0-9]{1,12}", re.ASCII)


def sign(secret: str, body: bytes, now: datetime) -> dict[str, str]:
    """The headers that prove where a body comes from, and when it was sent."""
    timestamp = str(int(now.timestamp()))
    return {TIMESTAMP_HEADER: timestamp, SIGNATURE_HEADER: SCHEME + _mac(secret, timestamp, body)}


def verify(secret: str, body: bytes, timestamp: str | None, signature: str | None, now: datetime) -> None:
    """Raises Unauthenticated unless this very body was signed with the secret a short while ago."""
    if timestamp is None or signature is None or not TIMESTAMP.fullmatch(timestamp):
        raise Unauthenticated(f"Sign it: {TIMESTAMP_HEADER} and {SIGNATURE_HEADER}.", code="unsigned")
    expected = SCHEME + _mac(secret, timestamp, body)
    # As bytes: what was sent may be anything.
    if not hmac.compare_digest(expected.encode(), signature.encode("utf-8", "surrogatepass")):
        raise Unauthenticated("The signature is not that of this body.", code="bad_signature")
    if abs(now.timestamp() - int(timestamp)) > TOLERANCE.total_seconds():
        raise Unauthenticated(
            "It was signed too long ago, or in the future; compare the clocks.", code="stale_signature"
        )


def _mac(secret: str, timestamp: str, body: bytes) -> str:
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
