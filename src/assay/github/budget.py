"""What is left of each token's hourly calls, learnt from the answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import structlog

from assay.github.auth import ANONYMOUS, GitHubAuth
from assay.model.errors import RateLimited, Unavailable

log = structlog.get_logger()

UNKNOWN = 1_000_000
WINDOW_SECONDS = 3600
# A refused token is revoked or misspelt; it is tried again now and then, in case GitHub was mistaken.
REFUSED_SECONDS = 600


@dataclass
class _Allowance:
    auth: GitHubAuth
    remaining: int = UNKNOWN
    resets_at: float = 0
    rests_until: float = 0
    refused_until: float = 0

    def turn(self, now: float) -> None:
        """Begin a new window if the old one is over; what it holds is not known before the next answer."""
        if now >= self.resets_at:
            self.remaining, self.resets_at = UNKNOWN, now + WINDOW_SECONDS

    def is_awake(self, now: float) -> bool:
        """Whether GitHub has not asked us to leave this token alone."""
        return now >= max(self.rests_until, self.refused_until)

    def left(self, now: float) -> int:
        """Calls that may still be made now."""
        return self.remaining if self.is_awake(now) else 0

    @property
    def again_at(self) -> float:
        """When calls can be made again."""
        return max(self.rests_until, self.resets_at if self.remaining <= 0 else 0)


@dataclass
class TokenBudget:
    """Chooses the token with most calls left; none configured means anonymous."""

    tokens: tuple[GitHubAuth, ...]
    clock: Callable[[], float]
    _allowances: list[_Allowance] = field(init=False)

    def __post_init__(self) -> None:
        self._allowances = [_Allowance(auth) for auth in self.tokens or (ANONYMOUS,)]

    def all(self) -> tuple[GitHubAuth, ...]:
        """Whom we can be."""
        return self.tokens or (ANONYMOUS,)

    def choose(self) -> GitHubAuth:
        """The best token, or RateLimited until the first one has calls again."""
        best, now = self._best()
        if best.left(now) <= 0:
            raise self._none_left(now)
        best.remaining -= 1
        return best.auth

    def lend(self) -> GitHubAuth:
        """A token for a host that counts no calls: it may be used up, but it must not be one that rests."""
        best, now = self._best()
        if not best.is_awake(now):
            raise self._none_left(now)
        return best.auth

    def learn(self, auth: GitHubAuth, headers: Mapping[str, str]) -> None:
        """Take over what an answer says is left."""
        allowance = self._of(auth)
        if "X-RateLimit-Remaining" in headers and headers.get("X-RateLimit-Resource", "core") == "core":
            allowance.remaining = int(headers["X-RateLimit-Remaining"])
            allowance.resets_at = float(headers.get("X-RateLimit-Reset", "0"))

    def has(self, auth: GitHubAuth) -> bool:
        """Whether calls with this token come out of this budget."""
        return any(allowance.auth == auth for allowance in self._allowances)

    def rest(self, auth: GitHubAuth, seconds: float) -> None:
        """Do not use this token for a while: GitHub asked for a pause."""
        self._of(auth).rests_until = self.clock() + max(1.0, seconds)

    def refuse(self, auth: GitHubAuth) -> None:
        """Do not use this token for longer: GitHub does not know it."""
        self._of(auth).refused_until = self.clock() + REFUSED_SECONDS
        which = f"token {self.tokens.index(auth) + 1} of {len(self.tokens)}" if self.tokens else "anonymous calls"
        log.warning(f"GitHub refuses {which}")

    def _best(self) -> tuple[_Allowance, float]:
        now = self.clock()
        for allowance in self._allowances:
            allowance.turn(now)
        return max(self._allowances, key=lambda each: (each.is_awake(now), each.left(now))), now

    def _none_left(self, now: float) -> Unavailable:
        known = [each for each in self._allowances if now >= each.refused_until]
        if not known:
            return Unavailable("GitHub refuses our tokens; an operator must renew them.", code="github_bad_token")
        return rate_limited(min(each.again_at for each in known) - now)

    def _of(self, auth: GitHubAuth) -> _Allowance:
        return next(allowance for allowance in self._allowances if allowance.auth == auth)


def rate_limited(seconds: float) -> RateLimited:
    """The error that says how long to wait."""
    wait = max(1.0, seconds)
    return RateLimited(f"GitHub's rate limit is used up; trying again in {wait:.0f} s.", retry_after_seconds=wait)
