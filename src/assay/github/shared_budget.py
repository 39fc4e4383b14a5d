"""The interface of the store that divides the calls of each token between processes."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from assay.model.github import UNKNOWN_CALLS, WINDOW_SECONDS, CallShare, CallWindow, TokenCooldown

# A process takes at most this many calls at once, and at most one part in SHARE_DIVISOR of the remainder: calls
# that it does not use before the window ends are lost to the others.
MAX_SHARE_CALLS = 50
SHARE_DIVISOR = 4


class SharedBudgetStore(Protocol):
    """Call counts by key, which reveals nothing about the token. Methods raise Unavailable if it cannot be reached."""

    async def take_share(self, key: str, seen: CallWindow, now: float) -> CallShare | None:
        """Reserve calls for this process; `seen` is the last window GitHub reported (end 0 if unknown).

        Returns None if no window is open.
        """

    async def record_windows(self, key: str, windows: Sequence[CallWindow], now: float) -> None:
        """Record what GitHub reported: open new windows; within an open one, the remainder only decreases."""

    async def return_calls(self, key: str, resource: str, calls: int, resets_at: float) -> None:
        """Return reserved calls that were not made; ignored if their window has ended."""

    async def set_cooldown(self, key: str, until: TokenCooldown) -> None:
        """Stop all processes from using the token for a while."""

    async def read_cooldowns(self, keys: Sequence[str]) -> Mapping[str, TokenCooldown]: ...


class UnsharedBudgetStore:
    """For a process that shares its tokens with no other: it takes every call; responses tell how many there are."""

    async def take_share(self, key: str, seen: CallWindow, now: float) -> CallShare | None:
        return CallShare(UNKNOWN_CALLS, 0, seen.resets_at or now + WINDOW_SECONDS)

    async def record_windows(self, key: str, windows: Sequence[CallWindow], now: float) -> None:
        pass

    async def return_calls(self, key: str, resource: str, calls: int, resets_at: float) -> None:
        pass

    async def set_cooldown(self, key: str, until: TokenCooldown) -> None:
        pass

    async def read_cooldowns(self, keys: Sequence[str]) -> Mapping[str, TokenCooldown]:
        return {}
