"""What a host lets us do: calls of a resource until a moment, and the shares that processes take of them."""

from dataclasses import dataclass

# Stands for "the host has not said": more than anybody is ever given.
UNKNOWN = 1_000_000
# How long a window lasts of which nothing else is known.
WINDOW_SECONDS = 3600
# So much of a key is shown to people.
SHOWN_CHARACTERS = 8


@dataclass(frozen=True, slots=True)
class Window:
    """Calls of one resource that are left until the window ends (seconds since 1970)."""

    resource: str
    remaining: int
    resets_at: float


@dataclass(frozen=True, slots=True)
class Share:
    """Calls that now belong to one process, and what is left for everybody; both end with the window."""

    calls: int
    left: int
    resets_at: float


@dataclass(frozen=True, slots=True)
class Aside:
    """Until when a token is left alone: because the host asked for a pause, or because it does not know it."""

    rests_until: float = 0
    refused_until: float = 0


def shown_key(key: str) -> str:
    """How a token is called where people read: in metrics and in the log."""
    return key[:SHOWN_CHARACTERS]
