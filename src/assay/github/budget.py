"""What is left of each token's calls, learnt from the answers and shared with the other processes through a book.

Every process takes some calls at a time out of the book and makes them without asking again, so all together never
make more calls than a token has, and the book is asked now and then and not for every call. If it cannot be
reached, each goes on with what GitHub itself says.
"""

import asyncio
import hashlib
import hmac
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import structlog

from assay.github.auth import ANONYMOUS, Identity
from assay.github.call_budget import Purse
from assay.github.headers import CORE
from assay.github.shared_budget import MOST_CALLS, PART, Book, NoBook
from assay.model.call_budget import UNKNOWN, WINDOW_SECONDS, Aside, Share, Window, shown_key
from assay.model.errors import RateLimited, Unavailable

log = structlog.get_logger()

# A refused token is revoked or misspelt; it is tried again now and then, in case GitHub was mistaken.
REFUSED_SECONDS = 600
# So soon a process hears that another one was asked to pause.
LOOK_SECONDS = 2.0
# What one token is refused, another may be granted.
ASK_WITH_ANOTHER_TOKEN = frozenset({"rate_limited", "github_bad_token", "github_app_unavailable"})
ODD_PAUSE_SECONDS = 60

Ask = Callable[[Identity], Awaitable[Sequence[Window]]]


@dataclass
class _Holder:
    """One token: its purses, and until when it is left alone."""

    identity: Identity
    key: str
    aside: Aside = field(default_factory=Aside)
    purses: dict[str, Purse] = field(default_factory=dict)
    filling: asyncio.Lock = field(default_factory=asyncio.Lock)

    def purse(self, resource: str, now: float) -> Purse:
        """Of this resource, in the present window."""
        purse = self.purses.setdefault(resource, Purse(resource))
        purse.turn(now)
        return purse

    def is_awake(self, now: float) -> bool:
        """Whether GitHub has not asked us to leave this token alone."""
        return now >= max(self.aside.rests_until, self.aside.refused_until)

    def again_at(self, resource: str, now: float) -> float:
        """When calls can be made again."""
        purse = self.purse(resource, now)
        return max(self.aside.rests_until, purse.resets_at if purse.worth <= 0 else 0)


@dataclass
class TokenBudget:
    """Chooses the token with most calls left; none configured means anonymous."""

    tokens: tuple[Identity, ...]
    clock: Callable[[], float]
    book: Book = field(default_factory=NoBook)
    secret: str = field(default="", repr=False)
    """With it, keys of the book are made of tokens: the same in all processes, and of no use to who reads them."""
    _holders: list[_Holder] = field(init=False, repr=False)
    _looked_at: float = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._holders = [_Holder(each, self._key(each)) for each in self.tokens or (ANONYMOUS,)]

    def all(self) -> tuple[Identity, ...]:
        """Whom we can be."""
        return tuple(holder.identity for holder in self._holders)

    def key_of(self, identity: Identity) -> str:
        """By what a token is known where it must not be named."""
        return self._of(identity).key

    async def choose(self, resource: str, ask: Ask) -> Identity:
        """The best token, one call poorer; RateLimited until the first one has calls again."""
        while True:
            await self._look()
            holder, now = self._best(resource)
            purse = holder.purse(resource, now)
            if not holder.is_awake(now) or purse.worth <= 0:
                raise self._none_left(resource, now)
            if purse.left > 0:
                purse.spend()
                return holder.identity
            await self._fill(holder, resource, ask)

    async def spend(self, identity: Identity, resource: str, ask: Ask) -> None:
        """One more call with the same token, as a redirect needs it."""
        holder = self._of(identity)
        if holder.purse(resource, self.clock()).left <= 0:
            await self._fill(holder, resource, ask)
        purse = holder.purse(resource, self.clock())
        if purse.left <= 0:
            raise self._none_left(resource, self.clock())
        purse.spend()

    def lend(self) -> Identity:
        """A token for a host that counts no calls: it may be used up, but it must not be one that rests."""
        holder, now = self._best(CORE)
        if not holder.is_awake(now):
            raise self._none_left(CORE, now)
        return holder.identity

    def learn(self, identity: Identity, said: Window, *, was_free: bool) -> None:
        """Take over what an answer says is left."""
        self._of(identity).purse(said.resource, self.clock()).learn(said, was_free=was_free)

    def has(self, identity: Identity) -> bool:
        """Whether calls of this one come out of this budget."""
        return any(holder.identity is identity for holder in self._holders)

    async def exhaust(self, identity: Identity, said: Window) -> None:
        """GitHub says that nothing is left before the window ends, whatever we believed."""
        holder, now = self._of(identity), self.clock()
        purse = holder.purse(said.resource, now)
        purse.empty()
        purse.resets_at, purse.is_told = min(max(said.resets_at, now + 1), now + WINDOW_SECONDS), True
        await self._tell(self.book.note(holder.key, [Window(said.resource, 0, purse.resets_at)], now))

    async def rest(self, identity: Identity, seconds: float) -> None:
        """Do not use this token for a while, in no process: GitHub asked for a pause."""
        holder = self._of(identity)
        until = self.clock() + max(1.0, seconds)
        holder.aside = Aside(max(until, holder.aside.rests_until), holder.aside.refused_until)
        await self._tell(self.book.set_aside(holder.key, holder.aside))

    async def refuse(self, identity: Identity) -> None:
        """Do not use this token for longer: GitHub does not know it."""
        if identity.renew():
            return
        holder = self._of(identity)
        holder.aside = Aside(holder.aside.rests_until, self.clock() + REFUSED_SECONDS)
        which = f"token {self._holders.index(holder) + 1} of {len(self._holders)}" if self.tokens else "anonymous calls"
        log.error(
            f"GitHub refuses {which}; it is put aside for {REFUSED_SECONDS // 60} minutes", token=shown_key(holder.key)
        )
        await self._tell(self.book.set_aside(holder.key, holder.aside))

    async def close(self) -> None:
        """Give back what was taken and not used."""
        now = self.clock()
        for holder in self._holders:
            for purse in holder.purses.values():
                if 0 < purse.left < UNKNOWN // 2 and now < purse.resets_at:
                    await self._tell(self.book.give_back(holder.key, purse.resource, purse.left, purse.resets_at))
                    purse.calls = 0

    async def _look(self) -> None:
        """Hear what the other processes were told, now and then."""
        now = self.clock()
        if now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        try:
            asides = await self.book.read_asides([holder.key for holder in self._holders])
        except Unavailable:
            return
        for holder in self._holders:
            told, known = asides.get(holder.key, Aside()), holder.aside
            rests_until = max(told.rests_until, known.rests_until)
            holder.aside = Aside(rests_until, max(told.refused_until, known.refused_until))

    async def _fill(self, holder: _Holder, resource: str, ask: Ask) -> None:
        """Take a share out of the book, once for all who wait for it."""
        async with holder.filling:
            purse = holder.purse(resource, self.clock())
            if purse.left > 0 or purse.worth <= 0:
                return
            try:
                share = await self._take(holder, purse, ask)
            except Unavailable as problem:
                if problem.code not in ASK_WITH_ANOTHER_TOKEN:
                    raise
                if problem.code == "rate_limited" and holder.is_awake(self.clock()):
                    await self.rest(holder.identity, ODD_PAUSE_SECONDS)
                return
            purse.fill(share)

    async def _take(self, holder: _Holder, purse: Purse, ask: Ask) -> Share:
        """Out of the book; if it has no page for this window, GitHub is asked what to write on it."""
        try:
            share = await self.book.take(holder.key, purse.window, self.clock())
        except Unavailable:
            return _alone(await self._asked(holder, purse, ask))
        if share is None:
            window = await self._asked(holder, purse, ask)
            try:
                share = await self.book.take(holder.key, window, self.clock())
            except Unavailable:
                share = None
            share = share or _alone(window)
        return share

    async def _asked(self, holder: _Holder, purse: Purse, ask: Ask) -> Window:
        """What GitHub says, written down for everybody; a resource that it does not count has no end."""
        is_known = purse.is_told and purse.seen > 0
        windows = [purse.window] if is_known else list(await ask(holder.identity))
        if purse.resource not in {window.resource for window in windows}:
            windows.append(Window(purse.resource, UNKNOWN, self.clock() + WINDOW_SECONDS))
        await self._tell(self.book.note(holder.key, windows, self.clock()))
        return next(window for window in windows if window.resource == purse.resource)

    async def _tell(self, telling: Awaitable[None]) -> None:
        """Nobody waits for the book, and nothing fails without it."""
        try:
            await telling
        except Unavailable as problem:
            log.warning("The other processes do not hear of a limit for now", problem=problem.message)

    def _best(self, resource: str) -> tuple[_Holder, float]:
        now = self.clock()
        return max(self._holders, key=lambda each: (each.is_awake(now), each.purse(resource, now).worth)), now

    def _none_left(self, resource: str, now: float) -> Unavailable:
        known = [each for each in self._holders if now >= each.aside.refused_until]
        if not known:
            return Unavailable("GitHub refuses our tokens; an operator must renew them.", code="github_bad_token")
        return rate_limited(min(each.again_at(resource, now) for each in known) - now)

    def _of(self, identity: Identity) -> _Holder:
        return next(holder for holder in self._holders if holder.identity is identity)

    def _key(self, identity: Identity) -> str:
        return hmac.new(self.secret.encode(), f"github:{identity.account}".encode(), hashlib.sha256).hexdigest()[:32]


def _alone(said: Window) -> Share:
    """A share of what GitHub itself says is left, while nobody can say what the others have taken."""
    calls = min(said.remaining, MOST_CALLS, max(1, said.remaining // PART))
    return Share(calls, said.remaining - calls, said.resets_at)


def rate_limited(seconds: float) -> RateLimited:
    """The error that says how long to wait."""
    wait = max(1.0, seconds)
    return RateLimited(f"GitHub's rate limit is used up; trying again in {wait:.0f} s.", retry_after_seconds=wait)
