"""Files of the private keys: generated on first use, replaced by a rotation."""

from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.certify.keys import ModelKey, SigningKey, SigningKeys
from assay.model.errors import Invalid
from assay.scratch import write_once


@dataclass(frozen=True)
class KeyFiles:
    hallmark: Path
    model: Path


def open_keys(files: KeyFiles) -> SigningKeys:
    return SigningKeys(open_signing_key(files.hallmark), open_model_key(files.model))


def open_signing_key(file: Path) -> SigningKey:
    """Return the Ed25519 key in a file, generating it on first use; of two concurrent processes, the first wins."""
    if not file.exists():
        write_once(file, _pem(Ed25519PrivateKey.generate()))
    private = _load(file)
    if not isinstance(private, Ed25519PrivateKey):
        raise Invalid(f"{file}: does not contain an Ed25519 key.", code="bad_key")
    return SigningKey(private)


def open_model_key(file: Path) -> ModelKey:
    """Return the P-256 key for OpenSSF model signing in a file, generating it on first use."""
    if not file.exists():
        write_once(file, _pem(generate_private_key(SECP256R1())))
    private = _load(file)
    if not isinstance(private, EllipticCurvePrivateKey) or not isinstance(private.curve, SECP256R1):
        raise Invalid(f"{file}: does not contain a P-256 key.", code="bad_key")
    return ModelKey(private)


def rotate_keys(files: KeyFiles) -> SigningKeys:
    """Replace the keys. The old files are kept, named by key id, so that a rotation can be undone."""
    before = open_keys(files)
    for file, number in ((files.hallmark, before.hallmark.id), (files.model, before.model.id)):
        file.rename(file.with_name(f"{file.stem}-{number}{file.suffix}"))
    return open_keys(files)


def _load(file: Path) -> object:
    try:
        return serialization.load_pem_private_key(file.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as problem:
        raise Invalid(f"{file}: cannot be read as a private key: {problem}", code="bad_key") from None


def _pem(private: Ed25519PrivateKey | EllipticCurvePrivateKey) -> bytes:
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private.private_bytes(*form)
