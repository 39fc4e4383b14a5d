"""The result of one check, with its status and a recommendation."""

from dataclasses import dataclass
from enum import StrEnum


class CheckStatus(StrEnum):
    """The status of a check, with the values of the JSON output. A check that cannot run is unknown, not ok."""

    OK = "well"
    WARNING = "odd"
    ERROR = "ill"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    name: str
    health: CheckStatus
    detail: str
    advice: str = ""


def ok(name: str, detail: str) -> DoctorCheck:
    return DoctorCheck(name, CheckStatus.OK, detail)


def error(name: str, detail: str, advice: str) -> DoctorCheck:
    """Return a check that requires action."""
    return DoctorCheck(name, CheckStatus.ERROR, detail, advice)


def warning(name: str, detail: str, advice: str) -> DoctorCheck:
    """Return a check of something that works but should be known."""
    return DoctorCheck(name, CheckStatus.WARNING, detail, advice)


def unknown(name: str, detail: str) -> DoctorCheck:
    """Return a check that could not run because of another failure."""
    return DoctorCheck(name, CheckStatus.UNKNOWN, detail)
