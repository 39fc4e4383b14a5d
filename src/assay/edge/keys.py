"""The keys of the copy: what is kept under which name."""

import hashlib
from uuid import UUID

SKILL, DETAIL, ALIAS, SUBMISSION, BLOCK = "skill:", "detail:", "alias:", "sub:", "block:"
INDEX = "skills:published-index"
INDEX_PART = f"{INDEX}:"
INDEX_UNDER_WAY = f"{INDEX}-under-way"
# What goes with every listing that is taken down.
INDEX_KEYS = frozenset({INDEX, INDEX_UNDER_WAY})
STATE, REBUILD = "copy:state", "copy:rebuild"

# What LMDB allows, in bytes, less the room for a digest.
LONGEST, KEPT = 511, 440


def skill_key(name: str) -> str:
    """A listing, as it stands in lists."""
    return _fitting(f"{SKILL}{name}")


def detail_key(name: str) -> str:
    """The versions, files and scans of a listing."""
    return _fitting(f"{DETAIL}{name}")


def alias_key(alias: str) -> str:
    """Another name of listings."""
    return _fitting(f"{ALIAS}{alias}")


def submission_key(submission_id: UUID) -> str:
    """A submission that is under way."""
    return f"{SUBMISSION}{submission_id}"


def block_key(entry_id: UUID | str) -> str:
    """An entry of the blocklist."""
    return f"{BLOCK}{entry_id}"


def part_key(number: int) -> str:
    """A part of the index."""
    return f"{INDEX_PART}{number:06}"


def _fitting(key: str) -> str:
    """The key itself, or its beginning and a digest of all of it; what is kept there knows its whole name."""
    raw = key.encode()
    if len(raw) <= LONGEST:
        return key
    return f"{raw[:KEPT].decode(errors='ignore')}#{hashlib.sha256(raw).hexdigest()}"
