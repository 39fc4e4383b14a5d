"""What GitHub's answers say beside their bodies: what is left, until when, and whether to go slower."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import msgspec

from assay.model.call_budget import Window

DEFAULT_PAUSE_SECONDS = 60
LONGEST_PAUSE_SECONDS = 3600
CORE = "core"


class Rate(msgspec.Struct):
    """A window as `/rate_limit` shows it."""

    remaining: int
    reset: int


class RateLimits(msgspec.Struct):
    """All of them."""

    resources: dict[str, Rate]


def window_of(headers: Mapping[str, str], now: float) -> Window | None:
    """What an answer says is left, in our time; None if it says nothing."""
    remaining, reset = headers.get("X-RateLimit-Remaining", ""), headers.get("X-RateLimit-Reset", "")
    if not remaining.isdecimal() or not reset.isdecimal():
        return None
    return Window(headers.get("X-RateLimit-Resource", CORE), int(remaining), _ours(int(reset), headers, now))


def windows_of(limits: RateLimits, headers: Mapping[str, str], now: float) -> list[Window]:
    """What `/rate_limit` says of every resource, in our time."""
    return [
        Window(resource, rate.remaining, _ours(rate.reset, headers, now)) for resource, rate in limits.resources.items()
    ]


def asked_pause(status: int, headers: Mapping[str, str], said: str) -> float | None:
    """Seconds for which GitHub wants to be left alone, if this answer says so, or is a limit on how fast we may go."""
    if status in (403, 429, 503) and "Retry-After" in headers:
        return _seconds(headers["Retry-After"])
    if status not in (403, 429):
        return None
    return DEFAULT_PAUSE_SECONDS if status == 429 or "rate limit" in said.lower() else None


def poll_pause(headers: Mapping[str, str]) -> float:
    """Seconds after which an answer may be asked for again; none for most."""
    return _seconds(headers["X-Poll-Interval"]) if "X-Poll-Interval" in headers else 0.0


def is_used_up(status: int, headers: Mapping[str, str]) -> bool:
    """Whether this answer says that the window has no more calls."""
    return status in (403, 429) and "Retry-After" not in headers and headers.get("X-RateLimit-Remaining") == "0"


def resource_of(path: str) -> str:
    """Which allowance a path of the API is charged to."""
    match [part for part in path.partition("?")[0].split("/") if part]:
        case ["search", "code"]:
            return "code_search"
        case ["search", _]:
            return "search"
        case ["graphql"]:
            return "graphql"
        case _:
            return CORE


def _ours(reset: int, headers: Mapping[str, str], now: float) -> float:
    """A moment of GitHub's clock on ours: its answer says what time it has."""
    try:
        date = parsedate_to_datetime(headers.get("Date", "")).timestamp()
    except ValueError:
        date = now
    return now + max(1.0, reset - date)


def _seconds(number: str) -> float:
    """Whole seconds from a header, within reason; a proxy may have put a date there."""
    return min(float(number), LONGEST_PAUSE_SECONDS) if number.isdecimal() else DEFAULT_PAUSE_SECONDS
