"""Faults that tests inject, per route."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.support.fake_github.answer import NO_ANSWER, Answer, Header, problem, text_answer

_PLAIN_ROUTES = frozenset({"raw", "archive", "web", "authorize", "token"})
_SECONDARY_LIMIT_MESSAGE = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. "
    "If you reach out to GitHub Support for help, please include the request ID FAKE:0001."
)
_SECONDARY_LIMIT_DOCS = (
    "https://docs.github.com/free-pro-team@latest/rest/overview/"
    "rate-limits-for-the-rest-api#about-secondary-rate-limits"
)


@dataclass
class Fault:
    """A change to the next responses of a route; `times` None lasts until `clear`."""

    times: int | None
    answer: Callable[[Callable[[], Answer]], Answer]
    """Builds the response; its argument returns the regular one."""


class Faults:
    """Queued faults, applied in order, and delays."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Fault]] = {}
        self.latency_seconds: dict[str, float] = {}
        self.every: int | None = None
        """Every n-th API response is an error."""
        self._answered = 0

    def add(self, route: str, fault: Fault) -> None:
        self._waiting.setdefault(route, deque()).append(fault)

    def clear(self) -> None:
        self._waiting.clear()
        self.latency_seconds.clear()
        self.every = None

    def apply(self, route: str, respond: Callable[[], Answer]) -> Answer:
        """Return the regular response, or that of the next fault."""
        self._answered += 1
        if self.every and self._answered % self.every == 0 and route not in _PLAIN_ROUTES:
            return problem(502, "Server Error")
        waiting = self._waiting.get(route)
        if not waiting:
            return respond()
        fault = waiting[0]
        if fault.times is not None:
            fault.times -= 1
            if fault.times <= 0:
                waiting.popleft()
        return fault.answer(respond)


def failure(route: str, status: int, times: int | None, retry_after: int | None, body: bytes | None) -> Fault:
    """Replace the response by an error."""
    message = "Server Error" if status >= 500 else "Failed on demand"
    answer = text_answer(status, message) if route in _PLAIN_ROUTES else problem(status, message)
    if body is not None:
        answer = replace(answer, body=body)
    return _replacement(times, replace(answer, headers=answer.headers + _retry_after(retry_after)))


def secondary_limit(times: int | None, retry_after: int | None) -> Fault:
    """Replace the response by GitHub's secondary rate limit."""
    answer = problem(403, _SECONDARY_LIMIT_MESSAGE, _SECONDARY_LIMIT_DOCS)
    return _replacement(times, replace(answer, headers=answer.headers + _retry_after(retry_after)))


def dropped_connection(times: int | None, after_bytes: int | None) -> Fault:
    """Close the connection before the response, or within its body."""
    if after_bytes is None:
        return _replacement(times, NO_ANSWER)
    return Fault(times, lambda respond: replace(respond(), hang_up_after_bytes=after_bytes))


def truncation(times: int | None, keep_bytes: int | None) -> Fault:
    """Cut the body short, by default in half, but end the response properly."""

    def cut(respond: Callable[[], Answer]) -> Answer:
        answer = respond()
        keep = len(answer.body) // 2 if keep_bytes is None else keep_bytes
        return replace(answer, body=answer.body[:keep])

    return Fault(times, cut)


def _replacement(times: int | None, answer: Answer) -> Fault:
    return Fault(times, lambda _respond: answer)


def _retry_after(seconds: int | None) -> tuple[Header, ...]:
    return () if seconds is None else ((b"retry-after", b"%d" % seconds),)
