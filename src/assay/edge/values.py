"""What is under the keys of the copy: typed, and each with the serial of the change that wrote it."""

import hashlib
from datetime import datetime
from functools import cache
from typing import TypeVar

import msgspec

from assay.model.blocklist import BlocklistEntry
from assay.model.scan import Scan
from assay.model.skill import Skill, SkillVersion
from assay.model.source import FileEntry
from assay.model.submission import Submission


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """Anything that is kept."""

    serial: int


class SkillValue(Value, frozen=True):
    """A live listing."""

    skill: Skill


class DetailValue(Value, frozen=True):
    """The rest of what its page shows."""

    name: str
    versions: list[SkillVersion]
    files: list[FileEntry]
    scans: list[Scan]


class AliasValue(Value, frozen=True):
    """Another name, and the names of the listings that it leads to."""

    alias: str
    names: list[str]


class SubmissionValue(Value, frozen=True):
    """A submission that is under way."""

    submission: Submission


class BlockValue(Value, frozen=True):
    """An entry of the blocklist that holds."""

    entry: BlocklistEntry


class IndexValue(Value, frozen=True):
    """The head of the index: how many listings it has, in how many parts."""

    count: int
    parts: int
    written_at: datetime


class IndexPart(Value, frozen=True):
    """Some of the listings of the index."""

    skills: list[Skill]


class StateValue(Value, frozen=True):
    """The copy as a whole: the moment until which it is complete, if it ever was, and the form of its values."""

    as_of: datetime | None
    form: str


class RebuildValue(Value, frozen=True):
    """How far a rebuild has come."""

    stage: str
    after: str | None
    rebuilt: int
    errors: int
    orphaned_aliases: int
    backfilled: int
    started_at: datetime
    updated_at: datetime


KINDS: tuple[type[Value], ...] = (
    SkillValue,
    DetailValue,
    AliasValue,
    SubmissionValue,
    BlockValue,
    IndexValue,
    IndexPart,
)
Kind = TypeVar("Kind", bound=Value)


def encode(value: Value) -> bytes:
    """As it is kept."""
    return msgspec.msgpack.encode(value)


def decode(raw: bytes, kind: type[Kind]) -> Kind:
    """What was kept; ValueError if it is something else."""
    return msgspec.msgpack.decode(raw, type=kind)


@cache
def form_of_values() -> str:
    """Changes whenever values that were written before could no longer be read: then all are written anew."""
    schema, parts = msgspec.json.schema_components(KINDS, schema_hook=lambda _: {"title": "anything"})
    return hashlib.sha256(msgspec.json.encode([schema, parts], order="sorted")).hexdigest()[:16]
