"""GitHub's primary rate limits: one bucket per resource for each token and anonymous client."""

import math
from dataclasses import dataclass
from functools import cached_property

from tests.support.fake_github.answer import Header

HOUR_SECONDS = 3600
MINUTE_SECONDS = 60


@dataclass
class Bucket:
    """A number of calls in a window that starts with the first call."""

    resource: str
    limit: int
    window_seconds: int
    used: int = 0
    resets_at: float = 0.0

    @property
    def remaining(self) -> int:
        return max(0, self.limit - self.used)

    def roll_over(self, now: float) -> None:
        """Start a new window if the current one has ended."""
        if self.resets_at == 0.0:
            self.resets_at = self._end(now)
        elif now >= self.resets_at:
            self.used = 0
            self.resets_at = self._end(now)

    def _end(self, now: float) -> float:
        """Round the end up to a full second, as the headers express it."""
        return math.ceil(now + self.window_seconds)

    def headers(self) -> tuple[Header, ...]:
        return (
            (b"x-ratelimit-limit", b"%d" % self.limit),
            (b"x-ratelimit-remaining", b"%d" % self.remaining),
            (b"x-ratelimit-used", b"%d" % self.used),
            (b"x-ratelimit-reset", b"%d" % self.resets_at),
            self._resource_header,
        )

    def describe(self) -> dict[str, object]:
        """Return the bucket in the format of `/rate_limit`."""
        return {
            "limit": self.limit,
            "used": self.used,
            "remaining": self.remaining,
            "reset": int(self.resets_at),
            "resource": self.resource,
        }

    @cached_property
    def _resource_header(self) -> Header:
        return b"x-ratelimit-resource", self.resource.encode()


@dataclass(frozen=True)
class Allowance:
    """The buckets of one token or anonymous client."""

    owner: str
    """The name in GitHub's rate limit error."""
    core: Bucket
    search: Bucket
    code_search: Bucket

    def buckets(self) -> tuple[Bucket, ...]:
        return self.core, self.search, self.code_search


def grant(
    owner: str, core: int, search: int, code_search: int, used: int = 0, minute_seconds: int = MINUTE_SECONDS
) -> Allowance:
    """Create an allowance with new windows, with `used` core calls already made."""
    return Allowance(
        owner,
        Bucket("core", core, HOUR_SECONDS, used),
        Bucket("search", search, minute_seconds),
        Bucket("code_search", code_search, minute_seconds),
    )


class Limits:
    """The allowances of all tokens and anonymous clients."""

    def __init__(self, anonymous_limit: int, anonymous_search_limit: int) -> None:
        self.minute_seconds = MINUTE_SECONDS
        """Length of the search window of tokens added later."""
        self.limit_anonymous(anonymous_limit, anonymous_search_limit)
        self._tokens: dict[str, Allowance] = {}

    def limit_anonymous(self, limit: int, search_limit: int) -> None:
        """Set the limits of anonymous clients and reset their windows."""
        self._anonymous_limits = limit, search_limit
        self._clients: dict[str, Allowance] = {}

    def add_token(self, token: str, limit: int, search_limit: int, code_search_limit: int, used: int) -> None:
        """Accept a token, or reset the allowance of a known one."""
        owner = f"user ID {1000 + len(self._tokens)}"
        self._tokens[token] = grant(owner, limit, search_limit, code_search_limit, used, self.minute_seconds)

    def accept(self, token: str, allowance: Allowance) -> None:
        """Accept a token that uses an existing, possibly shared, allowance."""
        self._tokens[token] = allowance

    def revoke_token(self, token: str) -> None:
        del self._tokens[token]

    def knows(self, token: str) -> bool:
        return token in self._tokens

    def allowance(self, token: str | None, client: str) -> Allowance:
        """Return the allowance of the token, or of the client's address if the token is missing or unknown."""
        if token is not None and token in self._tokens:
            return self._tokens[token]
        allowance = self._clients.get(client)
        if allowance is None:
            limit, search_limit = self._anonymous_limits
            allowance = self._clients[client] = grant(client, limit, search_limit, search_limit)
        return allowance
