"""Exit codes; if a command has several results, the most severe one wins."""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from types import MappingProxyType

from assay.model.errors import (
    AssayError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    Throttled,
    Unauthenticated,
    Unavailable,
)
from assay.model.submission import ACTIVE, State


class Exit(IntEnum):
    """The documented exit codes of all commands."""

    DONE = 0
    REFUSED = 1
    INVALID = 2
    NOT_FOUND = 3
    CONFLICT = 4
    UNAVAILABLE = 5
    NEEDS_REVIEW = 6
    NOT_SCANNED = 7
    STILL_WAITING = 8
    INTERRUPTED = 130


EXIT_CODES: dict[type[AssayError], Exit] = {
    Invalid: Exit.INVALID,
    NotFound: Exit.NOT_FOUND,
    Gone: Exit.NOT_FOUND,
    Conflict: Exit.CONFLICT,
    Unauthenticated: Exit.CONFLICT,
    Forbidden: Exit.CONFLICT,
    Throttled: Exit.UNAVAILABLE,
    Unavailable: Exit.UNAVAILABLE,
}
# Refusals first, then requests that failed, then skills without a verdict, then skills that will still get one.
MOST_SEVERE_FIRST = (
    Exit.REFUSED,
    Exit.INVALID,
    Exit.NOT_FOUND,
    Exit.CONFLICT,
    Exit.UNAVAILABLE,
    Exit.NOT_SCANNED,
    Exit.STILL_WAITING,
    Exit.NEEDS_REVIEW,
    Exit.DONE,
)
IN_PROGRESS = frozenset[str](ACTIVE | {State.AUTO_APPROVED})
# All other states have no verdict: the submission failed, or an administrator parked it.
STATE_EXIT_CODES: Mapping[str, Exit] = MappingProxyType(
    {
        State.PUBLISHED: Exit.DONE,
        State.NEEDS_REVIEW: Exit.NEEDS_REVIEW,
        State.TIER1_FAILED: Exit.REFUSED,
        State.REJECTED: Exit.REFUSED,
        State.BLOCKED: Exit.REFUSED,
    }
)


def most_severe(codes: Iterable[Exit]) -> Exit:
    """Return the exit code for several results; DONE if there are none."""
    return min(codes, key=MOST_SEVERE_FIRST.index, default=Exit.DONE)


def exit_code_for_error(error: AssayError) -> Exit:
    return next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))


def exit_code_for_state(state: str, *, waited: bool) -> Exit:
    """Return the exit code for a submission's state; one in progress is a failure only if the caller `waited`."""
    if state in IN_PROGRESS:
        return Exit.STILL_WAITING if waited else Exit.DONE
    return STATE_EXIT_CODES.get(state, Exit.NOT_SCANNED)
