"""`GET /api/v1/account/limits`: what is left of the caller's rate limits and quotas of bytes."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import get

from assay.accounts.rate_limit import read_quotas
from assay.model.account import INTERNAL_KEY, Caller
from assay.model.quota import Quota
from assay.store.people.accounts import find_account
from assay.store.people.namespaces import list_owned
from assay.store.submissions.upload_usage import read_upload_usage
from assay.web.http.access import PUBLIC
from assay.web.http.context import AnyRequest, Assay, CalledBy
from assay.web.http.errors import problems
from assay.web.http.json import View
from assay.web.http.limits import RULES, LimitClass, spendings

UNLIMITED = "`null` if there is no limit."
MAX_NAMESPACES = 20


class LimitView(View, frozen=True):
    """One of the caller's limits. The window begins with the first action that is counted."""

    name: LimitClass
    what: Annotated[str, msgspec.Meta(description="The actions that are counted.")]
    limit: Annotated[int | None, msgspec.Meta(description=UNLIMITED)]
    remaining: Annotated[int | None, msgspec.Meta(description=UNLIMITED)]
    period_seconds: int
    resets_at: Annotated[datetime | None, msgspec.Meta(description="`null` if nothing has been counted.")]


class StorageView(View, frozen=True):
    """The bytes that the uploads of a namespace keep stored, including deleted ones for about eight days."""

    namespace: str
    used_bytes: int
    limit_bytes: Annotated[int | None, msgspec.Meta(description=UNLIMITED)]


class LimitsView(View, frozen=True):
    """The limits of an account, or of an address if there is no account; with a token, those of the token."""

    caller: Annotated[str, msgspec.Meta(description="`account`, `token`, `address` or `internal key`.")]
    limits: list[LimitView]
    storage: Annotated[
        list[StorageView], msgspec.Meta(description=f"Of the account's namespaces; at most {MAX_NAMESPACES}.")
    ]


@get("/api/v1/account/limits", tags=["accounts"], summary="List my limits", opt=PUBLIC, responses=problems(400, 503))
async def list_my_limits(assay: Assay, caller: CalledBy, request: AnyRequest) -> LimitsView:
    """List what is left of your limits, without counting anything. Without credentials, those of your address."""
    views = []
    async with assay.store.snapshot() as db:
        for kind in LimitClass:
            if caller.is_signed_in or caller.is_admin or RULES[kind].has_anonymous:
                quotas = await read_quotas(db, spendings(request, caller, kind), assay.clock.now())
                views.append(_present(kind, [each for each in quotas if each is not None]))
        storage = await _read_storage(db, caller, assay.settings.upload_quota_bytes)
    return LimitsView(caller=_kind_of(caller), limits=views, storage=storage)


async def _read_storage(db: Any, caller: Caller, quota_bytes: int) -> list[StorageView]:
    account = await find_account(db, caller.account_id) if caller.account_id else None
    owned = [each for each in await list_owned(db, account) if caller.covers(each.name)] if account else []
    views = []
    for each in owned[:MAX_NAMESPACES]:
        used_bytes = (await read_upload_usage(db, each.name)).used_bytes
        views.append(StorageView(namespace=each.name, used_bytes=used_bytes, limit_bytes=quota_bytes or None))
    return views


def _present(kind: LimitClass, quotas: Sequence[Quota]) -> LimitView:
    """Present the lowest of several limits, as of a token and its account."""
    rule, lowest = RULES[kind], min(quotas, key=lambda each: each.remaining, default=None)
    return LimitView(
        name=kind,
        what=rule.what,
        limit=lowest.limit if lowest else None,
        remaining=lowest.remaining if lowest else None,
        period_seconds=rule.seconds,
        resets_at=lowest.resets_at if lowest and lowest.remaining < lowest.limit else None,
    )


def _kind_of(caller: Caller) -> str:
    if caller == INTERNAL_KEY:
        return caller.name
    if caller.token_id is not None:
        return "token"
    return "account" if caller.is_signed_in else "address"
