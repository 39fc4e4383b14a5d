"""How a command ends: the code says of which kind, and of several the most severe one wins."""

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
    """What a caller may branch on."""

    DONE = 0
    REFUSED = 1
    INVALID = 2
    NOT_FOUND = 3
    IN_THE_WAY = 4
    UNAVAILABLE = 5
    NEEDS_REVIEW = 6
    NOT_EXAMINED = 7
    STILL_WAITING = 8
    INTERRUPTED = 130


EXIT_CODES: dict[type[AssayError], Exit] = {
    Invalid: Exit.INVALID,
    NotFound: Exit.NOT_FOUND,
    Gone: Exit.NOT_FOUND,
    Conflict: Exit.IN_THE_WAY,
    Unauthenticated: Exit.IN_THE_WAY,
    Forbidden: Exit.IN_THE_WAY,
    Throttled: Exit.UNAVAILABLE,
    Unavailable: Exit.UNAVAILABLE,
}
# A clear no first, then what never came in, then what nobody has judged, then what somebody still will.
MOST_SEVERE_FIRST = (
    Exit.REFUSED,
    Exit.INVALID,
    Exit.NOT_FOUND,
    Exit.IN_THE_WAY,
    Exit.UNAVAILABLE,
    Exit.NOT_EXAMINED,
    Exit.STILL_WAITING,
    Exit.NEEDS_REVIEW,
    Exit.DONE,
)
UNDER_WAY = frozenset[str](ACTIVE | {State.AUTO_APPROVED})
# Whatever else there is has no verdict: it failed, or an admin took it out of the queue.
EXIT_OF_STATE: Mapping[str, Exit] = MappingProxyType(
    {
        State.PUBLISHED: Exit.DONE,
        State.NEEDS_REVIEW: Exit.NEEDS_REVIEW,
        State.TIER1_FAILED: Exit.REFUSED,
        State.REJECTED: Exit.REFUSED,
        State.BLOCKED: Exit.REFUSED,
    }
)


def worst(codes: Iterable[Exit]) -> Exit:
    """The one code of a command that did several things; done if it did none."""
    return min(codes, key=MOST_SEVERE_FIRST.index, default=Exit.DONE)


def exit_of_error(error: AssayError) -> Exit:
    """The code of what went wrong."""
    return next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))


def exit_of_state(state: str, *, waited: bool) -> Exit:
    """The code of where a submission stands; to be under way is bad only for who has waited for its end."""
    if state in UNDER_WAY:
        return Exit.STILL_WAITING if waited else Exit.DONE
    return EXIT_OF_STATE.get(state, Exit.NOT_EXAMINED)
