"""Comparing files with a hallmark."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from assay.certify.hallmark import CONTENT_SUBJECT, PREDICATE_TYPE


@dataclass(frozen=True)
class Differences:
    """Paths at which a folder differs from what was certified."""

    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.added or self.missing)


class Subject(msgspec.Struct):
    """The content as a whole, or one of its files, with its digest."""

    name: str
    digest: dict[str, str]


class Statement(msgspec.Struct, rename="camel"):
    """The in-toto statement of a hallmark."""

    predicate_type: str
    subject: list[Subject]
    predicate: dict[str, object]

    @property
    def skill(self) -> str:
        """The name of the listing that the hallmark was signed for."""
        return str(self.predicate.get("skill"))

    @property
    def files(self) -> dict[str, str]:
        """The SHA-256 of each file. The first subject is the content as a whole."""
        return {each.name: each.digest.get("sha256", "") for each in self.subject[1:]}


def read_statement(opened: Mapping[str, object]) -> Statement | None:
    """Parse the payload of a hallmark; None if the key signed something else."""
    try:
        statement = msgspec.convert(opened, Statement)
    except msgspec.ValidationError:
        return None
    if (
        statement.predicate_type != PREDICATE_TYPE
        or not statement.subject
        or statement.subject[0].name != CONTENT_SUBJECT
    ):
        return None
    return statement


def compare_files(statement: Statement, hashes: Mapping[str, str]) -> Differences:
    """Compare SHA-256 hashes of files, by path, with the certified ones."""
    certified = statement.files
    return Differences(
        changed=tuple(sorted(path for path in certified.keys() & hashes.keys() if certified[path] != hashes[path])),
        added=tuple(sorted(hashes.keys() - certified.keys())),
        missing=tuple(sorted(certified.keys() - hashes.keys())),
    )
