"""HMAC-SHA256 signatures of webhooks, in the form `sha256=<hex>` that GitHub introduced."""

import hashlib
import hmac

SCHEME = "sha256="


def hmac_signature(secret: str, message: bytes) -> str:
    return SCHEME + hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()


def has_hmac_signature(secret: str, message: bytes, signature: str) -> bool:
    """Compare in constant time, as bytes: `compare_digest` rejects strings that are not ASCII."""
    return hmac.compare_digest(hmac_signature(secret, message).encode(), signature.encode("utf-8", "surrogatepass"))
