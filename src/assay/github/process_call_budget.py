"""The calls of one resource that one process may make with one token."""

from dataclasses import dataclass

from assay.model.github import UNKNOWN_CALLS, WINDOW_SECONDS, CallShare, CallWindow

# Responses can arrive out of order; one whose window ended this much earlier belongs to the previous window.
SLACK_SECONDS = 5


@dataclass
class ProcessCallBudget:
    """Counters of one rate limit window.

    `calls` is the share of this process, `shared` is the remainder for all processes when it was last read, and
    `reported` is the number that GitHub reported, minus the calls made since. `is_confirmed` tells whether GitHub
    reported the end of the window.
    """

    resource: str
    calls: int = 0
    shared: int = UNKNOWN_CALLS
    reported: int = UNKNOWN_CALLS
    resets_at: float = 0
    is_confirmed: bool = False

    def roll_over(self, now: float) -> None:
        """Start a new window if the current one has ended; its size is unknown until the next response."""
        if now >= self.resets_at:
            self.calls, self.shared, self.reported = 0, UNKNOWN_CALLS, UNKNOWN_CALLS
            self.resets_at, self.is_confirmed = now + WINDOW_SECONDS, False

    @property
    def available(self) -> int:
        """Calls that can be made without taking another share."""
        return min(self.calls, self.reported)

    @property
    def obtainable(self) -> int:
        """Calls that can be made, including those that other processes have not taken."""
        return min(self.calls + self.shared, self.reported)

    @property
    def window(self) -> CallWindow:
        """The window as GitHub reported it; `resets_at` is 0 if it has not."""
        return CallWindow(self.resource, max(0, self.reported), self.resets_at if self.is_confirmed else 0)

    def spend(self) -> None:
        """Count one call; called before the request is sent."""
        self.calls -= 1
        self.reported -= 1

    def add_share(self, share: CallShare) -> None:
        self.calls = max(0, self.calls) + share.calls
        self.shared = share.left
        self.resets_at = share.resets_at

    def observe(self, window: CallWindow, *, was_free: bool) -> None:
        """Adopt the count of a response; `was_free` refunds the call, as for 304 responses."""
        if self.is_confirmed and window.resets_at < self.resets_at - SLACK_SECONDS:
            return
        if was_free:
            self.calls += 1
            self.reported += 1
        self.reported = min(self.reported, window.remaining)
        self.resets_at, self.is_confirmed = window.resets_at, True

    def exhaust(self) -> None:
        """Drop all calls until the window ends."""
        self.calls = self.shared = self.reported = 0
