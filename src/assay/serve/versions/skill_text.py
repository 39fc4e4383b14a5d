"""The SKILL.md of a version as clients compare it: by text rather than bytes."""

import hashlib

from assay.blobs.blobs import Blobs

SKILL_MD = "SKILL.md"
BOM = "\ufeff"


def normalised(skill_md: bytes) -> str:
    """Decode without byte order mark and with LF line ends."""
    return skill_md.decode(errors="replace").removeprefix(BOM).replace("\r\n", "\n")


def sha_of(skill_md: bytes) -> str:
    """Return the hexadecimal SHA-256 of the normalised text."""
    return hashlib.sha256(normalised(skill_md).encode()).hexdigest()


async def load_skill_text(blobs: Blobs, digest: str) -> tuple[str, str]:
    """Return the normalised SKILL.md of some content and its SHA-256."""
    content = await blobs.read_file(digest, SKILL_MD)
    return normalised(content), sha_of(content)
