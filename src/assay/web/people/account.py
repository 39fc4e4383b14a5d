"""`/api/v1/account`: what a person has here: whose listings are theirs, and the tokens of their programs."""

from typing import Any
from uuid import UUID

from litestar import Request, Router, delete, get, post
from litestar.params import FromPath, JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.accounts.permissions import owner_names
from assay.accounts.tokens import end_token, make_token
from assay.model.account import Account
from assay.model.errors import Forbidden, NotFound
from assay.store.people.accounts import find_account
from assay.store.people.tokens import list_tokens
from assay.web.http.access import ACCOUNT
from assay.web.http.caller import session_of
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.problems import problems
from assay.web.people.account_json import (
    NewTokenView,
    OkView,
    TenantsView,
    TenantView,
    TokenBody,
    TokensView,
    present_new_token,
    present_token,
)
from assay.web.submissions.json import LARGEST_REQUEST_BYTES


@get("/tenants", summary="Whose listings are mine?", responses=problems(400, 401, 403, 503))
async def list_tenants(assay: Assay, caller: CalledBy) -> TenantsView:
    """The owners at GitHub for whom you may speak: you yourself, if GitHub has said who you are."""
    async with assay.store.snapshot() as db:
        account = await find_account(db, caller.account_id) if caller.account_id else None
    return TenantsView(tenants=[] if account is None else _tenants(account))


@get("/tokens", summary="List my tokens", responses=problems(400, 401, 403, 503))
async def list_my_tokens(assay: Assay, caller: CalledBy) -> TokensView:
    """Those that are good, without what proves them: nobody can show that again."""
    if caller.account_id is None:
        return TokensView(tokens=[])
    async with assay.store.snapshot() as db:
        found = await list_tokens(db, caller.account_id, assay.clock.now())
    return TokensView(tokens=[present_token(each) for each in found])


@post(
    "/tokens",
    summary="Make a token",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 409, 413, 415, 503),
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def make_my_token(
    assay: Assay, caller: CalledBy, request: Request[Any, Any, Any], data: JSONBody[TokenBody]
) -> NewTokenView:
    """For a program of yours, which can do with it what you can, until it is over or you revoke it."""
    session = session_of(request)
    if session is None or not caller.is_signed_in or caller.by_token:
        raise Forbidden("Sign in to make a token: neither a key nor another token makes one.", code="session_needed")
    async with assay.store.begin() as db:
        made = await make_token(db, session, data.label, data.expires_in_days, assay.clock.now())
    return present_new_token(made)


@delete(
    "/tokens/{token_id:str}",
    summary="Revoke a token",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 503),
)
async def revoke_my_token(assay: Assay, caller: CalledBy, token_id: FromPath[UUID]) -> OkView:
    """Whoever shows it from now on is nobody."""
    if caller.account_id is None:
        raise NotFound("The key of the registry has no tokens.", code="token_not_found")
    async with assay.store.begin() as db:
        await end_token(db, caller.account_id, caller.name, token_id, assay.clock.now())
    return OkView()


def _tenants(account: Account) -> list[TenantView]:
    number = str(account.github_id)
    return [
        TenantView(tenant_id=number, id=number, slug=name.lower(), name=name, role="owner", installation_id=None)
        for name in owner_names(account)
    ]


router = Router(
    "/api/v1/account",
    tags=["accounts"],
    opt=ACCOUNT,
    route_handlers=[list_tenants, list_my_tokens, make_my_token, revoke_my_token],
)
