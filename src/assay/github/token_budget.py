"""Calls left for each token, learnt from responses and shared with other processes through a store.

Every process reserves a share of calls and spends it locally, so that all processes together never make more calls
than a token has, and the store is used once per share rather than once per call. While the store cannot be reached,
each process relies on the counts that GitHub reports.
"""

import asyncio
import hashlib
import hmac
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import structlog

from assay.github.auth import ANONYMOUS, Identity
from assay.github.headers import CORE
from assay.github.process_call_budget import ProcessCallBudget
from assay.github.shared_budget import MAX_SHARE_CALLS, SHARE_DIVISOR, SharedBudgetStore, UnsharedBudgetStore
from assay.model.errors import RateLimited, Unavailable
from assay.model.github import UNKNOWN_CALLS, WINDOW_SECONDS, CallShare, CallWindow, TokenCooldown, short_key

log = structlog.get_logger()

# A rejected token is revoked or misspelt; it is retried at this interval in case GitHub was mistaken.
REJECTED_SECONDS = 600
# Delay until a process notices that another one was told to pause.
COOLDOWN_READ_SECONDS = 2.0
# Errors after which another token may succeed.
RETRY_WITH_ANOTHER_TOKEN = frozenset({"rate_limited", "github_bad_token", "github_app_unavailable"})
# Used when a rate limit response names no pause.
DEFAULT_COOLDOWN_SECONDS = 60

FetchWindows = Callable[[Identity], Awaitable[Sequence[CallWindow]]]


@dataclass
class _TokenState:
    """One token, its budget for each resource, and its cooldown."""

    identity: Identity
    key: str
    cooldown: TokenCooldown = field(default_factory=TokenCooldown)
    budgets: dict[str, ProcessCallBudget] = field(default_factory=dict)
    refilling: asyncio.Lock = field(default_factory=asyncio.Lock)

    def budget(self, resource: str, now: float) -> ProcessCallBudget:
        """Return the budget of a resource in the current window."""
        budget = self.budgets.setdefault(resource, ProcessCallBudget(resource))
        budget.roll_over(now)
        return budget

    def is_usable(self, now: float) -> bool:
        return now >= max(self.cooldown.rests_until, self.cooldown.refused_until)

    def usable_at(self, resource: str, now: float) -> float:
        budget = self.budget(resource, now)
        return max(self.cooldown.rests_until, budget.resets_at if budget.obtainable <= 0 else 0)


@dataclass
class TokenBudget:
    """Chooses the token with the most calls left; calls are anonymous if no token is configured."""

    tokens: tuple[Identity, ...]
    clock: Callable[[], float]
    shared: SharedBudgetStore = field(default_factory=UnsharedBudgetStore)
    secret: str = field(default="", repr=False)
    """Key of the HMAC that turns tokens into store keys: equal in all processes, useless to readers of the store."""
    _states: list[_TokenState] = field(init=False, repr=False)
    _cooldowns_read_at: float = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._states = [_TokenState(each, self._key(each)) for each in self.tokens or (ANONYMOUS,)]

    def identities(self) -> tuple[Identity, ...]:
        """Return all tokens, or the anonymous identity if there is none."""
        return tuple(state.identity for state in self._states)

    def key_of(self, identity: Identity) -> str:
        """Return the key that stands for a token in stores, metrics and logs."""
        return self._state_of(identity).key

    async def choose(self, resource: str, fetch_windows: FetchWindows) -> Identity:
        """Spend one call of the best token and return it; raise RateLimited if no token has calls left."""
        while True:
            await self._read_cooldowns()
            state, now = self._best(resource)
            budget = state.budget(resource, now)
            if not state.is_usable(now) or budget.obtainable <= 0:
                raise self._exhausted_error(resource, now)
            if budget.available > 0:
                budget.spend()
                return state.identity
            await self._refill(state, resource, fetch_windows)

    async def spend(self, identity: Identity, resource: str, fetch_windows: FetchWindows) -> None:
        """Spend one more call of the same token, as for a redirect."""
        state = self._state_of(identity)
        if state.budget(resource, self.clock()).available <= 0:
            await self._refill(state, resource, fetch_windows)
        budget = state.budget(resource, self.clock())
        if budget.available <= 0:
            raise self._exhausted_error(resource, self.clock())
        budget.spend()

    def choose_unmetered(self) -> Identity:
        """Return a token for a host that counts no calls: it may be exhausted, but must not be in cooldown."""
        state, now = self._best(CORE)
        if not state.is_usable(now):
            raise self._exhausted_error(CORE, now)
        return state.identity

    def observe(self, identity: Identity, window: CallWindow, *, was_free: bool) -> None:
        """Adopt the call count that a response reports."""
        self._state_of(identity).budget(window.resource, self.clock()).observe(window, was_free=was_free)

    def owns(self, identity: Identity) -> bool:
        """Return whether calls of this identity are counted by this budget."""
        return any(state.identity is identity for state in self._states)

    async def exhaust(self, identity: Identity, window: CallWindow) -> None:
        """Use a token no more until its window ends, in all processes: GitHub reported that no call is left."""
        state, now = self._state_of(identity), self.clock()
        budget = state.budget(window.resource, now)
        budget.exhaust()
        budget.resets_at, budget.is_confirmed = min(max(window.resets_at, now + 1), now + WINDOW_SECONDS), True
        await self._write_shared(
            self.shared.record_windows(state.key, [CallWindow(window.resource, 0, budget.resets_at)], now)
        )

    async def cool_down(self, identity: Identity, seconds: float) -> None:
        """Pause a token in all processes, as GitHub requested."""
        state = self._state_of(identity)
        until = self.clock() + max(1.0, seconds)
        state.cooldown = TokenCooldown(max(until, state.cooldown.rests_until), state.cooldown.refused_until)
        await self._write_shared(self.shared.set_cooldown(state.key, state.cooldown))

    async def reject(self, identity: Identity) -> None:
        """Pause a token that GitHub rejected, in all processes, unless it can be renewed."""
        if identity.renew():
            return
        state = self._state_of(identity)
        state.cooldown = TokenCooldown(state.cooldown.rests_until, self.clock() + REJECTED_SECONDS)
        which = f"token {self._states.index(state) + 1} of {len(self._states)}" if self.tokens else "anonymous calls"
        log.error(f"GitHub rejected {which}", token=short_key(state.key), retry_seconds=REJECTED_SECONDS)
        await self._write_shared(self.shared.set_cooldown(state.key, state.cooldown))

    async def close(self) -> None:
        """Return reserved calls that were not made."""
        now = self.clock()
        for state in self._states:
            for budget in state.budgets.values():
                if 0 < budget.available < UNKNOWN_CALLS // 2 and now < budget.resets_at:
                    await self._write_shared(
                        self.shared.return_calls(state.key, budget.resource, budget.available, budget.resets_at)
                    )
                    budget.calls = 0

    async def _read_cooldowns(self) -> None:
        """Adopt cooldowns that other processes recorded, at most once per COOLDOWN_READ_SECONDS."""
        now = self.clock()
        if now - self._cooldowns_read_at < COOLDOWN_READ_SECONDS:
            return
        self._cooldowns_read_at = now
        try:
            cooldowns = await self.shared.read_cooldowns([state.key for state in self._states])
        except Unavailable:
            return
        for state in self._states:
            recorded, known = cooldowns.get(state.key, TokenCooldown()), state.cooldown
            rests_until = max(recorded.rests_until, known.rests_until)
            state.cooldown = TokenCooldown(rests_until, max(recorded.refused_until, known.refused_until))

    async def _refill(self, state: _TokenState, resource: str, fetch_windows: FetchWindows) -> None:
        """Take a share from the store, once for all tasks that wait for it."""
        async with state.refilling:
            budget = state.budget(resource, self.clock())
            if budget.available > 0 or budget.obtainable <= 0:
                return
            try:
                share = await self._take_share(state, budget, fetch_windows)
            except Unavailable as error:
                if error.code not in RETRY_WITH_ANOTHER_TOKEN:
                    raise
                if error.code == "rate_limited" and state.is_usable(self.clock()):
                    await self.cool_down(state.identity, DEFAULT_COOLDOWN_SECONDS)
                return
            budget.add_share(share)

    async def _take_share(
        self, state: _TokenState, budget: ProcessCallBudget, fetch_windows: FetchWindows
    ) -> CallShare:
        """Take a share from the store; if it has no open window, ask GitHub and record the answer first."""
        try:
            share = await self.shared.take_share(state.key, budget.window, self.clock())
        except Unavailable:
            return _local_share(await self._current_window(state, budget, fetch_windows))
        if share is None:
            window = await self._current_window(state, budget, fetch_windows)
            try:
                share = await self.shared.take_share(state.key, window, self.clock())
            except Unavailable:
                share = None
            share = share or _local_share(window)
        return share

    async def _current_window(
        self, state: _TokenState, budget: ProcessCallBudget, fetch_windows: FetchWindows
    ) -> CallWindow:
        """Return the window as GitHub reports it and record it; a resource that GitHub does not count is unlimited."""
        is_known = budget.is_confirmed and budget.reported > 0
        windows = [budget.window] if is_known else list(await fetch_windows(state.identity))
        if budget.resource not in {window.resource for window in windows}:
            windows.append(CallWindow(budget.resource, UNKNOWN_CALLS, self.clock() + WINDOW_SECONDS))
        await self._write_shared(self.shared.record_windows(state.key, windows, self.clock()))
        return next(window for window in windows if window.resource == budget.resource)

    async def _write_shared(self, write: Awaitable[None]) -> None:
        """Await a write to the store; log and ignore its failure."""
        try:
            await write
        except Unavailable as error:
            log.warning("Failed to share GitHub rate limits with other processes", error=error.message)

    def _best(self, resource: str) -> tuple[_TokenState, float]:
        now = self.clock()
        return max(self._states, key=lambda each: (each.is_usable(now), each.budget(resource, now).obtainable)), now

    def _exhausted_error(self, resource: str, now: float) -> Unavailable:
        accepted = [each for each in self._states if now >= each.cooldown.refused_until]
        if not accepted:
            return Unavailable(
                "GitHub rejects the tokens of this registry; an operator must renew them.", code="github_bad_token"
            )
        return rate_limited(min(each.usable_at(resource, now) for each in accepted) - now)

    def _state_of(self, identity: Identity) -> _TokenState:
        return next(state for state in self._states if state.identity is identity)

    def _key(self, identity: Identity) -> str:
        return hmac.new(self.secret.encode(), f"github:{identity.account}".encode(), hashlib.sha256).hexdigest()[:32]


def _local_share(window: CallWindow) -> CallShare:
    """Return a share of the calls that GitHub reports, for use while the shares of other processes are unknown."""
    calls = min(window.remaining, MAX_SHARE_CALLS, max(1, window.remaining // SHARE_DIVISOR))
    return CallShare(calls, window.remaining - calls, window.resets_at)


def rate_limited(seconds: float) -> RateLimited:
    """Build the error that says how long to wait, at least one second."""
    wait = max(1.0, seconds)
    return RateLimited(f"GitHub's rate limit is exhausted; retrying in {wait:.0f} s.", retry_after_seconds=wait)
