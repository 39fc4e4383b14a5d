"""The signing keys of a registry."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


class Algorithm(StrEnum):
    """The algorithm of a key: Ed25519 for hallmarks and signed responses, P-256 for model signing tools."""

    ED25519 = "ed25519"
    ECDSA_P256 = "ecdsa-p256"


@dataclass(frozen=True)
class SigningKey:
    """The registry's private key for hallmarks. Its representation shows only the id."""

    private: Ed25519PrivateKey

    def __repr__(self) -> str:
        return f"SigningKey({self.id})"

    @property
    def id(self) -> str:
        """The first half of the SHA-256 of the public key."""
        return key_id(self.private.public_key())

    @property
    def public_pem(self) -> str:
        form = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        return self.private.public_key().public_bytes(*form).decode()


@dataclass(frozen=True)
class ModelKey:
    """The registry's private key for model signing tools. Its representation shows only the id."""

    private: EllipticCurvePrivateKey

    def __repr__(self) -> str:
        return f"ModelKey({self.id})"

    @property
    def public_pem(self) -> str:
        form = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        return self.private.public_key().public_bytes(*form).decode()

    @property
    def id(self) -> str:
        """The first half of the hint."""
        return self.hint[:32]

    @property
    def hint(self) -> str:
        """The SHA-256 of the public key in PEM, by which a bundle names its key."""
        return hashlib.sha256(self.public_pem.encode()).hexdigest()


@dataclass(frozen=True)
class SigningKeys:
    """One key for hallmarks and signed responses, and one for tools that do not support Ed25519."""

    hallmark: SigningKey
    model: ModelKey

    @property
    def public(self) -> tuple[tuple[str, str, Algorithm], ...]:
        """The id, PEM and algorithm of each public key."""
        return (
            (self.hallmark.id, self.hallmark.public_pem, Algorithm.ED25519),
            (self.model.id, self.model.public_pem, Algorithm.ECDSA_P256),
        )


def key_id(public: Ed25519PublicKey) -> str:
    raw = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return hashlib.sha256(raw).hexdigest()[:32]


def verify_ed25519(pem: str, signature: bytes, data: bytes) -> bool:
    """Return true if the signature is valid; false also for a public key of another kind."""
    public = serialization.load_pem_public_key(pem.encode())
    if not isinstance(public, Ed25519PublicKey):
        return False
    try:
        public.verify(signature, data)
    except InvalidSignature:
        return False
    return True
