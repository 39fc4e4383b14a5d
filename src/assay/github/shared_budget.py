"""Where it is written down what is left of each token, for all processes that use it."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from assay.model.call_budget import UNKNOWN, WINDOW_SECONDS, Aside, Share, Window

# A process takes at most so many calls at once, and never more than this part of what is left: what it does not
# use before the window ends nobody else can.
MOST_CALLS = 50
PART = 4


class Book(Protocol):
    """Kept by key, which says nothing about the token. Unavailable if it cannot be reached."""

    async def take(self, key: str, seen: Window, now: float) -> Share | None:
        """Calls for this process alone; `seen` is what GitHub has said last (0 for an end that it has not said).

        None if no window is open.
        """

    async def note(self, key: str, windows: Sequence[Window], now: float) -> None:
        """What GitHub says: begins windows where the last are over; within one, what is left only falls."""

    async def give_back(self, key: str, resource: str, calls: int, resets_at: float) -> None:
        """Calls that were taken and not made; forgotten if their window is over."""

    async def set_aside(self, key: str, until: Aside) -> None:
        """Let all processes leave the token alone."""

    async def read_asides(self, keys: Sequence[str]) -> Mapping[str, Aside]:
        """Which of these are to be left alone."""


class NoBook:
    """For a process that shares its tokens with nobody: it takes all there is, and the answers say how much."""

    async def take(self, key: str, seen: Window, now: float) -> Share | None:
        """Everything."""
        return Share(UNKNOWN, 0, seen.resets_at or now + WINDOW_SECONDS)

    async def note(self, key: str, windows: Sequence[Window], now: float) -> None:
        """Nobody else wants to know."""

    async def give_back(self, key: str, resource: str, calls: int, resets_at: float) -> None:
        """Nobody else wants them."""

    async def set_aside(self, key: str, until: Aside) -> None:
        """Nobody else wants to know."""

    async def read_asides(self, keys: Sequence[str]) -> Mapping[str, Aside]:
        """Nobody has said anything."""
        return {}
