"""GitHub's primary rate limits: a bucket for each resource, for each token and each anonymous client."""

import math
from dataclasses import dataclass
from functools import cached_property

from tests.support.fake_github.answer import Header

HOUR_SECONDS = 3600
MINUTE_SECONDS = 60


@dataclass
class Bucket:
    """So many calls in a window that begins with the first of them."""

    resource: str
    limit: int
    window_seconds: int
    used: int = 0
    resets_at: float = 0.0

    @property
    def remaining(self) -> int:
        """Calls left in this window."""
        return max(0, self.limit - self.used)

    def turn(self, now: float) -> None:
        """Begin a new window if the old one is over."""
        if self.resets_at == 0.0:
            self.resets_at = self._end(now)
        elif now >= self.resets_at:
            self.used = 0
            self.resets_at = self._end(now)

    def _end(self, now: float) -> float:
        """Windows end with a second, so that the headers can say when."""
        return math.ceil(now + self.window_seconds)

    def headers(self) -> tuple[Header, ...]:
        """What GitHub tells of the bucket with each answer."""
        return (
            (b"x-ratelimit-limit", b"%d" % self.limit),
            (b"x-ratelimit-remaining", b"%d" % self.remaining),
            (b"x-ratelimit-used", b"%d" % self.used),
            (b"x-ratelimit-reset", b"%d" % self.resets_at),
            self._resource_header,
        )

    def describe(self) -> dict[str, object]:
        """The bucket as `/rate_limit` shows it."""
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
    """What one token, or one anonymous client, may do."""

    owner: str
    """As GitHub names it when the limit is exceeded."""
    core: Bucket
    search: Bucket
    code_search: Bucket

    def buckets(self) -> tuple[Bucket, ...]:
        """All of them."""
        return self.core, self.search, self.code_search


def grant(
    owner: str, core: int, search: int, code_search: int, used: int = 0, minute_seconds: int = MINUTE_SECONDS
) -> Allowance:
    """An allowance with fresh windows, of which `used` core calls are gone already."""
    return Allowance(
        owner,
        Bucket("core", core, HOUR_SECONDS, used),
        Bucket("search", search, minute_seconds),
        Bucket("code_search", code_search, minute_seconds),
    )


class Limits:
    """All allowances of the world."""

    def __init__(self, anonymous_limit: int, anonymous_search_limit: int) -> None:
        self.minute_seconds = MINUTE_SECONDS
        """The window of the searches of tokens that are added from now on."""
        self.limit_anonymous(anonymous_limit, anonymous_search_limit)
        self._tokens: dict[str, Allowance] = {}

    def limit_anonymous(self, limit: int, search_limit: int) -> None:
        """Give every anonymous client a new allowance."""
        self._anonymous_limits = limit, search_limit
        self._clients: dict[str, Allowance] = {}

    def add_token(self, token: str, limit: int, search_limit: int, code_search_limit: int, used: int) -> None:
        """Accept a token, or give a known one a new allowance."""
        owner = f"user ID {1000 + len(self._tokens)}"
        self._tokens[token] = grant(owner, limit, search_limit, code_search_limit, used, self.minute_seconds)

    def accept(self, token: str, allowance: Allowance) -> None:
        """Let a token use an allowance, which others may use too."""
        self._tokens[token] = allowance

    def revoke_token(self, token: str) -> None:
        """Refuse a token from now on."""
        del self._tokens[token]

    def knows(self, token: str) -> bool:
        """Whether a token is valid."""
        return token in self._tokens

    def allowance(self, token: str | None, client: str) -> Allowance:
        """Of the token, or of the client's address when the token is missing or unknown."""
        if token is not None and token in self._tokens:
            return self._tokens[token]
        allowance = self._clients.get(client)
        if allowance is None:
            limit, search_limit = self._anonymous_limits
            allowance = self._clients[client] = grant(client, limit, search_limit, search_limit)
        return allowance
