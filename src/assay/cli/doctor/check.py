"""A check of the doctor: what was looked at, how it is, and what to do."""

from dataclasses import dataclass
from enum import StrEnum


class Health(StrEnum):
    """How something is. What could not be looked at is unknown, and not well."""

    WELL = "well"
    ODD = "odd"
    ILL = "ill"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    health: Health
    detail: str
    advice: str = ""


def well(name: str, detail: str) -> Check:
    """Nothing to do."""
    return Check(name, Health.WELL, detail)


def ill(name: str, detail: str, advice: str) -> Check:
    """Somebody has to do something."""
    return Check(name, Health.ILL, detail, advice)


def odd(name: str, detail: str, advice: str) -> Check:
    """It works, and somebody should know."""
    return Check(name, Health.ODD, detail, advice)


def unknown(name: str, detail: str) -> Check:
    """It could not be looked at, because of something else."""
    return Check(name, Health.UNKNOWN, detail)
