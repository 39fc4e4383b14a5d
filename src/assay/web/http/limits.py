"""Rate limits of requests: each unsafe route counts before its work, and its response says what is left.

All unsafe methods count as writes. A route declares further limits with `limited(…)` in its `opt`, or calls
`spend_on` if the amount depends on the body. `UNLIMITED` exempts a route; the internal key is always exempt.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from litestar import Litestar
from litestar.handlers import BaseRouteHandler
from litestar.routes import HTTPRoute

from assay.accounts.rate_limit import RateLimit, SignInLimits, Spending, caller_key, spend
from assay.model.account import ANONYMOUS, INTERNAL_KEY, Caller
from assay.model.errors import Throttled
from assay.settings import Settings
from assay.web.http.caller import caller_of
from assay.web.http.context import Connection, context_of, registry_of
from assay.web.http.cookies import SAFE_METHODS, is_safe
from assay.web.http.errors import problems
from assay.web.http.headers import RATE_LIMIT, rate_limit_headers

HOUR, DAY = 3_600, 86_400
# The rest of the limits that the request counted against, in its state.
QUOTAS = "quotas"
HINT = "Callers with an account have a higher limit."


class LimitClass(StrEnum):
    """A class of actions; its name in the settings and in the list of limits."""

    WRITES = "writes"
    SKILLS = "skills"
    DISCOVER = "discover"
    UPLOADS = "uploads"
    CLAIMS = "claims"
    RESCANS = "rescans"
    APPEALS = "appeals"


@dataclass(frozen=True, slots=True)
class _Rule:
    what: str
    seconds: int
    # Callers without an account can do it too, and have a limit of their own.
    has_anonymous: bool = False


RULES = {
    LimitClass.WRITES: _Rule("requests that write", 60, has_anonymous=True),
    LimitClass.SKILLS: _Rule("submitted skills", HOUR, has_anonymous=True),
    LimitClass.DISCOVER: _Rule("searched repositories", HOUR, has_anonymous=True),
    LimitClass.UPLOADS: _Rule("uploads", HOUR),
    LimitClass.CLAIMS: _Rule("tokens, claims and handles", HOUR),
    LimitClass.RESCANS: _Rule("rescans", DAY),
    LimitClass.APPEALS: _Rule("appeals", DAY),
}
UNLIMITED = {"is_unlimited": True}


def limited(*classes: LimitClass) -> dict[str, object]:
    """Return the `opt` of a route of which each request counts once against these limits."""
    return {"limits": classes}


async def limit_requests(connection: Connection, handler: BaseRouteHandler) -> None:
    """Count the request against its limits, as a guard: before the body is read. Raises Throttled."""
    if _is_unlimited(handler):
        return
    caller = _caller(connection, handler)
    if not is_safe(connection):
        classes = (LimitClass.WRITES, *handler.opt.get("limits", ()))
        await _spend(connection, [each for kind in classes for each in spendings(connection, caller, kind)])
    elif not (caller.is_signed_in or caller.is_admin):
        _limit_read(connection)


async def spend_on(connection: Connection, kind: LimitClass, amount: int) -> None:
    """Count an amount against a limit of the caller, before the work and outside any transaction. Raises Throttled."""
    await _spend(connection, spendings(connection, caller_of(connection), kind, amount))


def spendings(connection: Connection, caller: Caller, kind: LimitClass, amount: int = 1) -> list[Spending]:
    """Return what the caller has to spend: for its account, and for the token that it uses; or for its address."""
    settings = registry_of(connection).settings
    if caller == INTERNAL_KEY:
        return []
    limit = rate_limit(settings, kind, caller)
    found = [Spending(limit, caller_key(caller, address_of(connection)), amount)]
    percent = settings.limit_token_percent
    if caller.token_id is not None and percent:
        part = RateLimit(limit.what, math.ceil(limit.at_most * percent / 100), limit.seconds, "This is for one token.")
        found.append(Spending(part, f"token {caller.token_id}", amount))
    return found


def rate_limit(settings: Settings, kind: LimitClass, caller: Caller) -> RateLimit:
    """Return the limit in the settings for an account or for a caller without one."""
    rule = RULES[kind]
    if caller.account_id is not None or not rule.has_anonymous:
        return RateLimit(rule.what, getattr(settings, f"limit_{kind}"), rule.seconds)
    return RateLimit(rule.what, getattr(settings, f"limit_{kind}_anonymous"), rule.seconds, HINT)


def share_of(connection: Connection) -> str:
    """Return who takes turns in the queue, and whose idempotency keys these are: an account, the key, or a network."""
    return caller_key(caller_of(connection), address_of(connection))


def sign_in_limits(settings: Settings) -> SignInLimits:
    return SignInLimits(settings.limit_sign_in, settings.limit_sign_in_address)


def address_of(connection: Connection) -> str:
    """Return the address of the client, which a trusted proxy may have forwarded; empty if there is none."""
    return connection.client.host if connection.client else ""


def document_limits(app: Litestar) -> None:
    """Add the response 429 to the documentation of each route that is limited."""
    for route in app.routes:
        for handler in route.route_handlers if isinstance(route, HTTPRoute) else ():
            if handler.http_methods - SAFE_METHODS and not _is_unlimited(handler):
                handler.responses = {**problems(429), **(handler.responses or {})}


def _is_unlimited(handler: BaseRouteHandler) -> bool:
    """Return whether the route is exempt; requests with a signature come from GitHub or a scan node."""
    return bool(handler.opt.get("is_unlimited") or handler.opt.get("needs_signature"))


def _caller(connection: Connection, handler: BaseRouteHandler) -> Caller:
    return ANONYMOUS if handler.opt.get("is_unidentified") else caller_of(connection)


async def _spend(connection: Connection, needed: Sequence[Spending]) -> None:
    assay = registry_of(connection)
    now = assay.clock.now()
    quotas = [*connection.state.get(QUOTAS, ()), *await spend(assay.store, needed, now)]
    if quotas:
        tightest = max(quotas, key=lambda each: each.used_part)
        connection.state[QUOTAS] = quotas
        connection.state[RATE_LIMIT] = rate_limit_headers(tightest, (tightest.resets_at - now).total_seconds())


def _limit_read(connection: Connection) -> None:
    reads, now = context_of(connection.scope).reads, registry_of(connection).clock.now()
    wait = reads.take(address_of(connection), now.timestamp())
    if wait:
        raise Throttled(
            f"The limit is {reads.per_minute:,} reads per minute for an address without an account. Try again in "
            f"{math.ceil(wait)} s, or sign in.",
            retry_after_seconds=wait,
        )
