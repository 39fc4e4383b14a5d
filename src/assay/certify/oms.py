"""Signatures for model signing tools (OpenSSF Model Signing 1.0), over the files of a skill and nothing else.

A signature is a Sigstore bundle around a DSSE envelope, signed with a P-256 key, because these tools do not support
Ed25519.
"""

import base64
import hashlib

import msgspec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA

from assay.certify.hallmark import PAYLOAD_TYPE, STATEMENT_TYPE, signed_bytes
from assay.certify.keys import ModelKey
from assay.model.source import Manifest

PREDICATE_TYPE = "https://model_signing/signature/v1.0"
BUNDLE_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json"
# The tool ignores these paths even if they are signed, so they must not be. The hallmark covers them.
IGNORED = (".git", ".gitattributes", ".github", ".gitignore")


def sign_model(name: str, manifest: Manifest, key: ModelKey) -> dict[str, object]:
    """Return the bundle over all files of a skill in a folder with this name."""
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
