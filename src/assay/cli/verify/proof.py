"""The proof of a skill: its hallmark and the keys that may have signed it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from assay.certify.compare import Statement, read_statement
from assay.certify.hallmark import open_hallmark
from assay.cli.verify.folder import HALLMARK, KEYS
from assay.model.errors import Invalid, NotFound

MAX_PROOF_BYTES = 16 * 1024 * 1024


class Forged(Exception):
    """The hallmark is not signed by any of the keys."""


class _Key(msgspec.Struct, rename="camel"):
    id: str
    public_key: str


class _Keys(msgspec.Struct):
    keys: list[_Key]


@dataclass(frozen=True)
class Proof:
    """A hallmark, and public keys by id."""

    hallmark: dict[str, Any]
    keys: dict[str, str]

    def open(self) -> Statement:
        """Return the statement in the hallmark. Raises Forged if no key has signed it."""
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
        """The ids of the keys that the hallmark claims to be signed with."""
        signatures = self.hallmark.get("signatures")
        if not isinstance(signatures, list):
            return []
        return [str(each.get("keyid")) for each in signatures if isinstance(each, dict)]


def read_proof(path: Path, hallmark: Path | None, keys: Path | None) -> Proof:
    """Read the given files, or else those in or beside the folder."""
    return Proof(read_hallmark(hallmark or find(path, HALLMARK)), read_keys(keys or find(path, KEYS)))


def find(path: Path, name: str) -> Path:
    """Return the file of this name in a folder, or beside the folder or archive. Raises NotFound."""
    for folder in (path, path.parent) if path.is_dir() else (path.parent,):
        if (folder / name).is_file():
            return folder / name
    option = "--hallmark" if name == HALLMARK else "--keys"
    raise NotFound(f"There is no {name} in or beside {str(path)!r}: pass one with {option}.", code="proof_not_found")


def read_hallmark(file: Path) -> dict[str, Any]:
    """Read a hallmark in the format that the registry serves."""
    hallmark: dict[str, Any] = _decode(_read(file), dict[str, Any], file)
    return hallmark


def read_keys(file: Path) -> dict[str, str]:
    """Read keys in the format that the registry serves at `/.well-known/assay/keys.json`."""
    return {key.id: key.public_key for key in _decode(_read(file), _Keys, file).keys}


def _read(file: Path) -> bytes:
    try:
        if file.stat().st_size > MAX_PROOF_BYTES:
            raise Invalid(f"{str(file)!r} is too large for a hallmark or a list of keys.")
        return file.read_bytes()
    except OSError as problem:
        raise Invalid(f"{str(file)!r} cannot be read: {problem.strerror}.") from None


def _decode(content: bytes, kind: Any, file: Path) -> Any:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise Invalid(f"{str(file)!r} has an unknown format: {problem}") from None
