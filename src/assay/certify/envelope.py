"""What all our signed statements have in common: in-toto in a DSSE envelope."""

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"


def signed_bytes(payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding: the type is signed together with the payload."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
