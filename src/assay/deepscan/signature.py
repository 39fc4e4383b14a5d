"""Signatures between the registry and its nodes: HMAC-SHA256 over timestamp and raw body, with a shared secret."""

import re
from datetime import datetime, timedelta

from assay.certify.hmac_signature import has_hmac_signature, hmac_signature
from assay.model.errors import Unauthenticated

SIGNATURE_HEADER, TIMESTAMP_HEADER = "X-Webhook-Signature", "X-Webhook-Timestamp"
# Allowance for clock differences and transmission.
TOLERANCE = timedelta(minutes=5)
TIMESTAMP = re.compile(r"[0-9]{1,12}", re.ASCII)


def sign(secret: str, body: bytes, now: datetime) -> dict[str, str]:
    """Return the headers that authenticate a body and its time."""
    timestamp = str(int(now.timestamp()))
    return {TIMESTAMP_HEADER: timestamp, SIGNATURE_HEADER: hmac_signature(secret, _message(timestamp, body))}


def verify(secret: str, body: bytes, timestamp: str | None, signature: str | None, now: datetime) -> None:
    """Raise Unauthenticated unless this body was signed with the secret within the tolerance."""
    if timestamp is None or signature is None or not TIMESTAMP.fullmatch(timestamp):
        raise Unauthenticated(
            f"The request must be signed: send {TIMESTAMP_HEADER} and {SIGNATURE_HEADER}.", code="unsigned"
        )
    if not has_hmac_signature(secret, _message(timestamp, body), signature):
        raise Unauthenticated("The signature does not match the body.", code="bad_signature")
    if abs(now.timestamp() - int(timestamp)) > TOLERANCE.total_seconds():
        raise Unauthenticated(
            "The timestamp is too old or in the future; check the clocks of both machines.", code="stale_signature"
        )


def _message(timestamp: str, body: bytes) -> bytes:
    return timestamp.encode() + b"." + body
