"""Version numbers: the author's, if it is a fresh one; else one more than the last."""

import re
from collections.abc import Sequence

from assay.model.naming import said_version

SEMVER = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(-[0-9A-Za-z.-]{1,50})?")


def next_version(declared: str | None, taken: Sequence[str]) -> str:
    """`taken` is newest first. The first version of a skill that declares none is 1.0.0."""
    wanted = (said_version(declared) or "").strip().removeprefix("v")
    if SEMVER.fullmatch(wanted) and wanted not in taken:
        return wanted
    numbers = [match for match in map(SEMVER.fullmatch, taken) if match]
    if not numbers:
        return "1.0.0"
    major, minor, patch = max((int(found[1]), int(found[2]), int(found[3])) for found in numbers)
    return f"{major}.{minor}.{patch + 1}"
