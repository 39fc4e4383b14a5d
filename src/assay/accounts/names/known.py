"""Reserved words, and the names of well-known owners."""

import tomllib
from functools import cache
from importlib.resources import files

from assay.accounts.names.similar import KnownName
from assay.scan.checks.lookalike import KNOWN


@cache
def reserved_names() -> frozenset[str]:
    return _names("reserved")


@cache
def well_known_owners() -> frozenset[str]:
    return _names("owners")


def well_known_skills() -> list[KnownName]:
    """Return the skills that the scanner knows, too."""
    return [KnownName(name, name) for name in sorted(KNOWN)]


def _names(table: str) -> frozenset[str]:
    known = tomllib.loads((files("assay.accounts.names") / "known.toml").read_text(encoding="utf-8"))
    return frozenset(name for group in known[table].values() for name in group)
