"""The values of the edge copy, each with the serial of the change that wrote it."""

import hashlib
from datetime import datetime
from functools import cache
from typing import TypeVar

import msgspec

from assay.model.blocklist import BlocklistEntry
from assay.model.skill import Skill, SkillVersion
from assay.model.source import FileEntry
from assay.model.submission import Submission
from assay.model.verdict import Scan


class EdgeValue(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all values."""

    serial: int


class SkillValue(EdgeValue, frozen=True):
    """A live listing, as shown in lists."""

    skill: Skill


class DetailValue(EdgeValue, frozen=True):
    """The versions, files and scans of a live listing."""

    name: str
    versions: list[SkillVersion]
    files: list[FileEntry]
    scans: list[Scan]


class AliasValue(EdgeValue, frozen=True):
    """An alias with the names of the listings it leads to."""

    alias: str
    names: list[str]


class SubmissionValue(EdgeValue, frozen=True):
    """An active submission. Jobs of the same priority are claimed in the order of their ids."""

    submission: Submission
    job_id: int | None = None


class BlockValue(EdgeValue, frozen=True):
    """A blocklist entry in force."""

    entry: BlocklistEntry


class IndexValue(EdgeValue, frozen=True):
    """The head of the index: the numbers of listings and parts."""

    count: int
    parts: int
    written_at: datetime


class IndexPart(EdgeValue, frozen=True):
    """One part of the index."""

    skills: list[Skill]


class StateValue(EdgeValue, frozen=True):
    """The copy as a whole: `as_of` is when it was last complete (None: never), `form` the schema of its values."""

    as_of: datetime | None
    form: str


class RebuildValue(EdgeValue, frozen=True):
    """The progress of a rebuild: `after` is the cursor within the stage."""

    stage: str
    after: str | None
    rebuilt: int
    errors: int
    orphaned_aliases: int
    backfilled: int
    started_at: datetime
    updated_at: datetime


KINDS: tuple[type[EdgeValue], ...] = (
    SkillValue,
    DetailValue,
    AliasValue,
    SubmissionValue,
    BlockValue,
    IndexValue,
    IndexPart,
)
ValueT = TypeVar("ValueT", bound=EdgeValue)


def encode(value: EdgeValue) -> bytes:
    return msgspec.msgpack.encode(value)


def decode(raw: bytes, kind: type[ValueT]) -> ValueT:
    """Raises ValueError if this is not a value of that type."""
    return msgspec.msgpack.decode(raw, type=kind)


@cache
def values_schema_digest() -> str:
    """Return a digest of the schema of all values. When it changes, existing values may be unreadable, so the copy is
    rebuilt.
    """
    schema, parts = msgspec.json.schema_components(KINDS, schema_hook=lambda _: {"title": "anything"})
    return hashlib.sha256(msgspec.json.encode([schema, parts], order="sorted")).hexdigest()[:16]
