"""Signatures over bytes as they are: what is sent, and nothing that would first have to be put into some order."""

import base64
import binascii
from collections.abc import Mapping

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from assay.certify.hallmark import SigningKey

# A signature of one thing is none of another.
CONTEXT = b"assay-page-v1\n"


def sign_bytes(key: SigningKey, data: bytes) -> str:
    """The signature as base64."""
    return base64.b64encode(key.private.sign(CONTEXT + data)).decode()


def is_signed(data: bytes, key_id: str, signature: str, public_keys: Mapping[str, str]) -> bool:
    """Whether one of these keys (id → PEM), namely the one that is named, has signed exactly these bytes."""
    pem = public_keys.get(key_id)
    if pem is None:
        return False
    public = serialization.load_pem_public_key(pem.encode())
    if not isinstance(public, Ed25519PublicKey):
        return False
    try:
        public.verify(base64.b64decode(signature, validate=True), CONTEXT + data)
    except (InvalidSignature, binascii.Error):
        return False
    return True
