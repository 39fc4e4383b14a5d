"""The proof: a hallmark and the keys that may have signed it, from files or from the registry."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from assay.certify.compare import Statement, read_statement
from assay.certify.hallmark import open_hallmark
from assay.cli.verify.folder import HALLMARK, KEYS
from assay.model.errors import Invalid, NotFound

LARGEST_PROOF_BYTES = 16 * 1024 * 1024


class Forged(Exception):
    """The hallmark is not signed by any of the keys."""


class _Key(msgspec.Struct, rename="camel"):
    id: str
    public_key: str


class _Keys(msgspec.Struct):
    keys: list[_Key]


@dataclass(frozen=True)
class Proof:
    """A hallmark, and keys by id."""

    hallmark: dict[str, Any]
    keys: dict[str, str]

    def open(self) -> Statement:
        """What the hallmark says, or Forged."""
        try:
            opened = open_hallmark(self.hallmark, self.keys)
        except ValueError as problem:
            raise Invalid(f"A key cannot be read: {problem}", code="bad_key") from None
        statement = read_statement(opened) if opened is not None else None
        if statement is None:
            raise Forged
        return statement

    @property
    def signers(self) -> list[str]:
        """The ids of the keys that the hallmark names."""
        signatures = self.hallmark.get("signatures")
        if not isinstance(signatures, list):
            return []
        return [str(each.get("keyid")) for each in signatures if isinstance(each, dict)]


def read_proof(place: Path, hallmark: Path | None, keys: Path | None) -> Proof:
    """From the files that are given, or that lie in the folder or beside it."""
    return Proof(read_hallmark(hallmark or find(place, HALLMARK)), read_keys(keys or find(place, KEYS)))


def find(place: Path, name: str) -> Path:
    """The file of this name in a folder, or beside the folder or archive."""
    for folder in (place, place.parent) if place.is_dir() else (place.parent,):
        if (folder / name).is_file():
            return folder / name
    option = "--hallmark" if name == HALLMARK else "--keys"
    raise NotFound(f"There is no {name} in or beside {str(place)!r}: give one with {option}.", code="proof_not_found")


def read_hallmark(file: Path) -> dict[str, Any]:
    """A hallmark as the registry serves it."""
    hallmark: dict[str, Any] = _decode(_read(file), dict[str, Any], file)
    return hallmark


def read_keys(file: Path) -> dict[str, str]:
    """Keys as the registry serves them at `/.well-known/assay/keys.json`."""
    return {key.id: key.public_key for key in _decode(_read(file), _Keys, file).keys}


def _read(file: Path) -> bytes:
    try:
        if file.stat().st_size > LARGEST_PROOF_BYTES:
            raise Invalid(f"{str(file)!r} is too large to be a proof.")
        return file.read_bytes()
    except OSError as problem:
        raise Invalid(f"{str(file)!r} cannot be read: {problem.strerror}.") from None


def _decode(content: bytes, kind: Any, file: Path) -> Any:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise Invalid(f"{str(file)!r} is not what it should be: {problem}") from None
