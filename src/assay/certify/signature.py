"""Signatures over the exact bytes of a response, without canonicalisation."""

import base64
import binascii
from collections.abc import Mapping

from assay.certify.keys import SigningKey, verify_ed25519

# Domain separation: a signature for one purpose is not valid for another.
CONTEXT = b"assay-page-v1\n"


def sign_bytes(key: SigningKey, data: bytes) -> str:
    """Return the signature in base64."""
    return base64.b64encode(key.private.sign(CONTEXT + data)).decode()


def is_signed(data: bytes, key_id: str, signature: str, public_keys: Mapping[str, str]) -> bool:
    """Return true if the named key, one of these (id to PEM), signed exactly these bytes."""
    pem = public_keys.get(key_id)
    if pem is None:
        return False
    try:
        decoded = base64.b64decode(signature, validate=True)
    except binascii.Error:
        return False
    return verify_ed25519(pem, decoded, CONTEXT + data)
