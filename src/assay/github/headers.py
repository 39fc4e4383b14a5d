"""Rate limit information in the headers of GitHub's responses."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import msgspec

from assay.model.github import CallWindow

DEFAULT_PAUSE_SECONDS = 60
LONGEST_PAUSE_SECONDS = 3600
CORE = "core"


class Rate(msgspec.Struct):
    """One resource in the response of `/rate_limit`."""

    remaining: int
    reset: int


class RateLimits(msgspec.Struct):
    """The response of `/rate_limit`."""

    resources: dict[str, Rate]


def window_of(headers: Mapping[str, str], now: float) -> CallWindow | None:
    """Return the window that a response reports, on the local clock; None if it reports none."""
    remaining, reset = headers.get("X-RateLimit-Remaining", ""), headers.get("X-RateLimit-Reset", "")
    if not remaining.isdecimal() or not reset.isdecimal():
        return None
    return CallWindow(headers.get("X-RateLimit-Resource", CORE), int(remaining), _local_time(int(reset), headers, now))


def windows_of(limits: RateLimits, headers: Mapping[str, str], now: float) -> list[CallWindow]:
    """Return the windows that `/rate_limit` reports, on the local clock."""
    return [
        CallWindow(resource, rate.remaining, _local_time(rate.reset, headers, now))
        for resource, rate in limits.resources.items()
    ]


def requested_pause(status: int, headers: Mapping[str, str], message: str) -> float | None:
    """Return the seconds to pause if this response asks for a pause or is a secondary rate limit, otherwise None."""
    if status in (403, 429, 503) and "Retry-After" in headers:
        return _seconds(headers["Retry-After"])
    if status not in (403, 429):
        return None
    return DEFAULT_PAUSE_SECONDS if status == 429 or "rate limit" in message.lower() else None


def poll_pause(headers: Mapping[str, str]) -> float:
    """Return the seconds before a URL may be polled again; 0 if the response does not say."""
    return _seconds(headers["X-Poll-Interval"]) if "X-Poll-Interval" in headers else 0.0


def is_exhausted(status: int, headers: Mapping[str, str]) -> bool:
    """Return whether this response reports that its window has no calls left."""
    return status in (403, 429) and "Retry-After" not in headers and headers.get("X-RateLimit-Remaining") == "0"


def resource_of(path: str) -> str:
    """Return the rate limit resource that an API path is counted against."""
    match [part for part in path.partition("?")[0].split("/") if part]:
        case ["search", "code"]:
            return "code_search"
        case ["search", _]:
            return "search"
        case ["graphql"]:
            return "graphql"
        case _:
            return CORE


def _local_time(reset: int, headers: Mapping[str, str], now: float) -> float:
    """Convert a time on GitHub's clock to the local clock, using the Date header."""
    try:
        date = parsedate_to_datetime(headers.get("Date", "")).timestamp()
    except ValueError:
        date = now
    return now + max(1.0, reset - date)


def _seconds(number: str) -> float:
    """Parse whole seconds, capped; a proxy may have put a date there, for which the default is used."""
    return min(float(number), LONGEST_PAUSE_SECONDS) if number.isdecimal() else DEFAULT_PAUSE_SECONDS
