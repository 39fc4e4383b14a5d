"""The hallmark: an in-toto statement over the content digest and every file, in a DSSE envelope, Ed25519."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from assay.certify.envelope import PAYLOAD_TYPE, STATEMENT_TYPE, signed_bytes
from assay.model.source import Manifest

PREDICATE_TYPE = "urn:assay:hallmark:v1"
# The name of the first subject: everything together.
WHOLE = "content"


@dataclass(frozen=True)
class SigningKey:
    """The registry's private key. It never shows itself."""

    private: Ed25519PrivateKey

    def __repr__(self) -> str:
        return f"SigningKey({self.id})"

    @property
    def id(self) -> str:
        """The first half of the hash of the public key."""
        return key_id(self.private.public_key())

    @property
    def public_pem(self) -> str:
        """The public half, for others."""
        form = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        return self.private.public_key().public_bytes(*form).decode()


def sign_hallmark(manifest: Manifest, predicate: Mapping[str, object], key: SigningKey) -> dict[str, object]:
    """A DSSE envelope whose payload names the whole and each file by hash."""
    whole = {"name": WHOLE, "digest": {"sha256": manifest.digest.removeprefix("sha256:")}}
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
    """The statement inside if one of these keys (id → PEM) has signed it, else None. It may be anybody's."""
    try:
        given = msgspec.convert(envelope, _Envelope, strict=True)
    except msgspec.ValidationError:
        return None
    if given.payload_type != PAYLOAD_TYPE:
        return None
    for each in given.signatures:
        pem = public_keys.get(each.keyid)
        if pem is not None and _is_signed(pem, each.sig, given.payload):
            statement: dict[str, object] = msgspec.json.decode(given.payload)
            return statement
    return None


def key_id(public: Ed25519PublicKey) -> str:
    """A short name for a public key."""
    raw = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return hashlib.sha256(raw).hexdigest()[:32]


def _is_signed(pem: str, signature: bytes, payload: bytes) -> bool:
    public = serialization.load_pem_public_key(pem.encode())
    if not isinstance(public, Ed25519PublicKey):
        return False
    try:
        public.verify(signature, signed_bytes(payload))
    except InvalidSignature:
        return False
    return True
