"""Hallmarks: in-toto statements over the content digest and every file, in a DSSE envelope, signed with Ed25519."""

import base64
from collections.abc import Mapping

import msgspec

from assay.certify.keys import SigningKey, verify_ed25519
from assay.model.source import Manifest

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:assay:hallmark:v1"
# The name of the first subject: the content as a whole.
CONTENT_SUBJECT = "content"


def sign_hallmark(manifest: Manifest, predicate: Mapping[str, object], key: SigningKey) -> dict[str, object]:
    """Return a DSSE envelope whose payload names the content and each file by digest."""
    whole = {"name": CONTENT_SUBJECT, "digest": {"sha256": manifest.digest.removeprefix("sha256:")}}
    files = [{"name": entry.path, "digest": {"sha256": entry.sha256}} for entry in manifest.files]
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [whole, *files],
        "predicateType": PREDICATE_TYPE,
        "predicate": dict(predicate),
    }
    payload = msgspec.json.encode(statement, order="sorted")
    signature = key.private.sign(signed_bytes(payload))
    return {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode(),
        "signatures": [{"keyid": key.id, "sig": base64.b64encode(signature).decode()}],
    }


class _Signature(msgspec.Struct):
    keyid: str
    sig: bytes


class _Envelope(msgspec.Struct, rename="camel"):
    payload_type: str
    payload: bytes
    signatures: list[_Signature]


def open_hallmark(envelope: Mapping[str, object], public_keys: Mapping[str, str]) -> dict[str, object] | None:
    """Return the statement if one of these keys (id to PEM) signed it, else None. It need not be a hallmark."""
    try:
        parsed = msgspec.convert(envelope, _Envelope, strict=True)
    except msgspec.ValidationError:
        return None
    if parsed.payload_type != PAYLOAD_TYPE:
        return None
    for each in parsed.signatures:
        pem = public_keys.get(each.keyid)
        if pem is not None and verify_ed25519(pem, each.sig, signed_bytes(parsed.payload)):
            statement: dict[str, object] = msgspec.json.decode(parsed.payload)
            return statement
    return None


def signed_bytes(payload: bytes) -> bytes:
    """Return DSSE's pre-authentication encoding, which binds the payload to its type."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
