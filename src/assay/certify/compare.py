"""Files held against a hallmark: what is changed, what is added, what is missing."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from assay.certify.hallmark import PREDICATE_TYPE, WHOLE


@dataclass(frozen=True)
class Differences:
    """Paths at which a folder is not what was certified."""

    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.added or self.missing)


class Subject(msgspec.Struct):
    """The whole content, or one of its files, by hash."""

    name: str
    digest: dict[str, str]


class Statement(msgspec.Struct, rename="camel"):
    """What a hallmark says."""

    predicate_type: str
    subject: list[Subject]
    predicate: dict[str, object]

    @property
    def skill(self) -> str:
        """The name of the listing for which it was signed."""
        return str(self.predicate.get("skill"))

    @property
    def files(self) -> dict[str, str]:
        """The SHA-256 of each file. The first subject is the whole."""
        return {each.name: each.digest.get("sha256", "") for each in self.subject[1:]}


def read_statement(opened: Mapping[str, object]) -> Statement | None:
    """A statement of ours, or None if a key of ours has signed something else."""
    try:
        statement = msgspec.convert(opened, Statement)
    except msgspec.ValidationError:
        return None
    if statement.predicate_type != PREDICATE_TYPE or not statement.subject or statement.subject[0].name != WHOLE:
        return None
    return statement


def compare_files(statement: Statement, hashes: Mapping[str, str]) -> Differences:
    """Hold the hashes of files, by path, against what was certified."""
    certified = statement.files
    return Differences(
        changed=tuple(sorted(path for path in certified.keys() & hashes.keys() if certified[path] != hashes[path])),
        added=tuple(sorted(hashes.keys() - certified.keys())),
        missing=tuple(sorted(certified.keys() - hashes.keys())),
    )
