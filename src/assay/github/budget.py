"""What is left of each token's hourly calls, learnt from the answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from assay.github.auth import ANONYMOUS, GitHubAuth
from assay.model.errors import RateLimited

UNKNOWN = 1_000_000


@dataclass
class _Allowance:
    auth: GitHubAuth
    remaining: int = UNKNOWN
    resets_at: float = 0
    rests_until: float = 0

    def left(self, now: float) -> int:
        """Calls that may still be made now."""
        if now < self.rests_until:
            return 0
        return UNKNOWN if now >= self.resets_at else self.remaining


@dataclass
class TokenBudget:
    """Chooses the token with most calls left; none configured means anonymous."""

    tokens: tuple[GitHubAuth, ...]
    clock: Callable[[], float]
    _allowances: list[_Allowance] = field(init=False)

    def __post_init__(self) -> None:
        self._allowances = [_Allowance(auth) for auth in self.tokens or (ANONYMOUS,)]

    def choose(self) -> GitHubAuth:
        """The best token, or RateLimited until the first one has calls again."""
        now = self.clock()
        best = max(self._allowances, key=lambda allowance: allowance.left(now))
        if best.left(now) > 0:
            best.remaining -= 1
            return best.auth
        again = min(
            max(each.resets_at if not each.remaining else 0, each.rests_until) for each in self._allowances
        )
        raise rate_limited(again - now)

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
        self._of(auth).rests_until = self.clock() + seconds

    def _of(self, auth: GitHubAuth) -> _Allowance:
        return next(allowance for allowance in self._allowances if allowance.auth == auth)


def rate_limited(seconds: float) -> RateLimited:
    """The error that says how long to wait."""
    wait = max(1.0, seconds)
    return RateLimited(
        f"GitHub's rate limit is used up; trying again in {wait:.0f} s.", retry_after_seconds=wait
    )
