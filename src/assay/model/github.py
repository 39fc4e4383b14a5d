"""Call budgets and cached responses of GitHub."""

from dataclasses import dataclass

# Calls left while GitHub has not reported a number; higher than any real limit.
UNKNOWN_CALLS = 1_000_000
# Assumed length of a window while GitHub has not reported its end.
WINDOW_SECONDS = 3600
SHORT_KEY_LENGTH = 8


@dataclass(frozen=True, slots=True)
class CallWindow:
    """Calls left for one resource until `resets_at` (Unix time)."""

    resource: str
    remaining: int
    resets_at: float


@dataclass(frozen=True, slots=True)
class CallShare:
    """Calls reserved for one process and calls left for all processes, until `resets_at` (Unix time)."""

    calls: int
    left: int
    resets_at: float


@dataclass(frozen=True, slots=True)
class TokenCooldown:
    """Unix times until which a token is not used: GitHub asked for a pause, or rejected the token."""

    rests_until: float = 0
    refused_until: float = 0


def short_key(key: str) -> str:
    """Return the identifier of a token in metrics and logs."""
    return key[:SHORT_KEY_LENGTH]


@dataclass(frozen=True, slots=True)
class CachedResponse:
    """A response for conditional requests. `key` identifies the token without revealing it; `body` holds only the parts
    that are read.
    """

    key: str
    url: str
    etag: str
    body: bytes
