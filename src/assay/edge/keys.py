"""The keys of the edge copy."""

import hashlib
from uuid import UUID

SKILL, DETAIL, ALIAS, SUBMISSION, BLOCK = "skill:", "detail:", "alias:", "sub:", "block:"
INDEX = "skills:published-index"
INDEX_PART = f"{INDEX}:"
INDEX_BUILDING = f"{INDEX}-under-way"
# Deleted with every listing that is removed.
INDEX_KEYS = frozenset({INDEX, INDEX_BUILDING})
STATE, REBUILD = "copy:state", "copy:rebuild"

# The longest key LMDB allows, and the part of it that leaves room for a digest.
MAX_BYTES, PREFIX_BYTES = 511, 440


def skill_key(name: str) -> str:
    """A listing as shown in lists."""
    return _fitting(f"{SKILL}{name}")


def detail_key(name: str) -> str:
    """The versions, files and scans of a listing."""
    return _fitting(f"{DETAIL}{name}")


def alias_key(alias: str) -> str:
    return _fitting(f"{ALIAS}{alias}")


def submission_key(submission_id: UUID) -> str:
    return f"{SUBMISSION}{submission_id}"


def block_key(entry_id: UUID | str) -> str:
    return f"{BLOCK}{entry_id}"


def part_key(number: int) -> str:
    return f"{INDEX_PART}{number:06}"


def _fitting(key: str) -> str:
    """Shorten keys over the limit to a prefix and a digest; the stored value has the full name."""
    raw = key.encode()
    if len(raw) <= MAX_BYTES:
        return key
    return f"{raw[:PREFIX_BYTES].decode(errors='ignore')}#{hashlib.sha256(raw).hexdigest()}"
