"""Validation of paths inside archives and repositories."""

import unicodedata
from pathlib import PurePosixPath

from assay.fetch.limits import Limits
from assay.model.errors import Invalid

# Control and format characters (zero width, right to left), surrogates, private use, line and paragraph separators.
INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def checked_path(path: str, limits: Limits) -> str:
    """Return the path unchanged; raise Invalid if it is absolute, climbs, or contains invisible characters."""
    if problem := path_problem(path, limits):
        raise Invalid(f"skillPath {path[:100]!r} {problem}.", code="bad_path")
    return path


def path_problem(path: str, limits: Limits) -> str | None:
    """Return the rule that a path violates, as a phrase that follows the path; None if it is valid."""
    if not path or len(path) > limits.path_length:
        return f"must have 1 to {limits.path_length} characters"
    if path.startswith("/") or "\\" in path or ":" in path.split("/", 1)[0]:
        return "must be relative, with forward slashes"
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "must not contain empty parts, '.' or '..'"
    if len(parts) > limits.path_depth:
        return f"must not be deeper than {limits.path_depth} folders"
    if not path.isprintable() and any(unicodedata.category(character) in INVISIBLE for character in path):
        return "must not contain control or invisible characters"
    return None


def folder_of(skill_path: str) -> str:
    """Return the folder of a SKILL.md; empty for the root."""
    parent = str(PurePosixPath(skill_path).parent)
    return "" if parent == "." else parent
