"""The log of calls, for tests and benchmarks to count."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, overload

ROUTES = (
    "repo",
    "commit",
    "tree",
    "search",
    "owner",
    "events",
    "raw",
    "archive",
    "web",
    "rate_limit",
    "installation",
    "user",
    "authorize",
    "token",
    "check",
)


class Call(NamedTuple):
    """A request and its outcome; status 0 means that the connection was dropped."""

    host: str
    """The URL prefix: api, raw, codeload or web."""
    route: str
    path: str
    status: int
    token: str | None
    authorization: bool
    """True if there was an Authorization header of any form."""
    charged: bool
    """True if it was charged to a rate limit."""


class CallLog(Sequence[Call]):
    """Calls in order. Only the first `keep` are stored, for long benchmarks; the counts are exact."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self.clear()

    def record(self, call: Call) -> None:
        self.by_route[call.route] += 1
        self.charged += call.charged
        if call.charged:
            self.by_token[call.token or ""] += 1
        if len(self._calls) < self._keep:
            self._calls.append(call)

    def clear(self) -> None:
        self._calls: list[Call] = []
        self.by_route: Counter[str] = Counter()
        self.charged = 0
        self.by_token: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        """Calls made although the limit of their resource was exhausted."""

    @overload
    def __getitem__(self, index: int) -> Call: ...
    @overload
    def __getitem__(self, index: slice) -> list[Call]: ...
    def __getitem__(self, index: int | slice) -> Call | list[Call]:
        return self._calls[index]

    def __len__(self) -> int:
        return len(self._calls)
