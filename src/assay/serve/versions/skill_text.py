"""The SKILL.md of a content, as clients keep it: they compare its text and not its bytes."""

import hashlib

from assay.blobs.blobs import Blobs

SKILL_MD = "SKILL.md"
BOM = "\ufeff"


def normalised(skill_md: bytes) -> str:
    """Without a byte order mark, with plain line ends."""
    return skill_md.decode(errors="replace").removeprefix(BOM).replace("\r\n", "\n")


def sha_of(skill_md: bytes) -> str:
    """The hexadecimal SHA-256 of the text, which is the same however its lines end."""
    return hashlib.sha256(normalised(skill_md).encode()).hexdigest()


async def load_skill_text(blobs: Blobs, digest: str) -> tuple[str, str]:
    """The text of a content's SKILL.md and its SHA-256."""
    content = await blobs.read_file(digest, SKILL_MD)
    return normalised(content), sha_of(content)
