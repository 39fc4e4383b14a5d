"""The calls of one resource that one process may make with one token."""

from dataclasses import dataclass

from assay.model.call_budget import UNKNOWN, WINDOW_SECONDS, Share, Window

# Answers overtake each other; one that is older than the window by so much belongs to the last.
SLACK_SECONDS = 5


@dataclass
class Purse:
    """`calls` are ours alone, `shared` was left for everybody when last heard of, `seen` is GitHub's own count."""

    resource: str
    calls: int = 0
    shared: int = UNKNOWN
    seen: int = UNKNOWN
    resets_at: float = 0
    is_told: bool = False

    def turn(self, now: float) -> None:
        """Begin a new window if the old one is over; what it holds is not known before the next answer."""
        if now >= self.resets_at:
            self.calls, self.shared, self.seen = 0, UNKNOWN, UNKNOWN
            self.resets_at, self.is_told = now + WINDOW_SECONDS, False

    @property
    def left(self) -> int:
        """Calls that can be made without asking anybody."""
        return min(self.calls, self.seen)

    @property
    def worth(self) -> int:
        """Calls that can be made, as far as is known."""
        return min(self.calls + self.shared, self.seen)

    @property
    def window(self) -> Window:
        """What GitHub has said of it."""
        return Window(self.resource, max(0, self.seen), self.resets_at if self.is_told else 0)

    def spend(self) -> None:
        """One call is being made."""
        self.calls -= 1
        self.seen -= 1

    def fill(self, share: Share) -> None:
        """Take in what the book gave."""
        self.calls = max(0, self.calls) + share.calls
        self.shared = share.left
        self.resets_at = share.resets_at

    def learn(self, said: Window, *, was_free: bool) -> None:
        """Take over what an answer says is left."""
        if self.is_told and said.resets_at < self.resets_at - SLACK_SECONDS:
            return
        if was_free:
            self.calls += 1
            self.seen += 1
        self.seen = min(self.seen, said.remaining)
        self.resets_at, self.is_told = said.resets_at, True

    def empty(self) -> None:
        """Nothing is left before the window ends."""
        self.calls = self.shared = self.seen = 0
