"""The signature that tools for models verify (OpenSSF Model Signing 1.0): the files of a skill and nothing else.

It is a Sigstore bundle around a DSSE envelope, signed with a key on the curve P-256: these tools know no Ed25519.
"""

import base64
import hashlib
from dataclasses import dataclass

import msgspec
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey

from assay.certify.envelope import PAYLOAD_TYPE, STATEMENT_TYPE, signed_bytes
from assay.model.source import Manifest

PREDICATE_TYPE = "https://model_signing/signature/v1.0"
BUNDLE_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json"
# The tool leaves these out whether or not they are signed, so they must not be. The hallmark names them.
IGNORED = (".git", ".gitattributes", ".github", ".gitignore")


@dataclass(frozen=True)
class ModelKey:
    """The registry's private key for these tools. It never shows itself."""

    private: EllipticCurvePrivateKey

    def __repr__(self) -> str:
        return f"ModelKey({self.id})"

    @property
    def public_pem(self) -> str:
        """The public half, for others."""
        form = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        return self.private.public_key().public_bytes(*form).decode()

    @property
    def id(self) -> str:
        """The first half of the hint that stands in its bundles."""
        return self.hint[:32]

    @property
    def hint(self) -> str:
        """By what a bundle says which key it needs: the hash of the public half."""
        return hashlib.sha256(self.public_pem.encode()).hexdigest()


def sign_model(name: str, manifest: Manifest, key: ModelKey) -> dict[str, object]:
    """The bundle over all files of a skill that is kept in a folder of this name."""
    resources = [
        {"name": entry.path, "algorithm": "sha256", "digest": entry.sha256}
        for entry in manifest.files
        if entry.path.partition("/")[0] not in IGNORED
    ]
    whole = hashlib.sha256(b"".join(bytes.fromhex(each["digest"]) for each in resources)).hexdigest()
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": name, "digest": {"sha256": whole}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "serialization": {
                "method": "files",
                "hash_type": "sha256",
                "allow_symlinks": False,
                "ignore_paths": list(IGNORED),
            },
            "resources": resources,
        },
    }
    payload = msgspec.json.encode(statement)
    signature = key.private.sign(signed_bytes(payload), ECDSA(hashes.SHA256()))
    return {
        "mediaType": BUNDLE_TYPE,
        "verificationMaterial": {"publicKey": {"hint": key.hint}, "tlogEntries": []},
        "dsseEnvelope": {
            "payload": base64.b64encode(payload).decode(),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [{"sig": base64.b64encode(signature).decode(), "keyid": ""}],
        },
    }
