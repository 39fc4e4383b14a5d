"""`/api/v1/account`: the GitHub owners that an account controls, and its tokens."""

from typing import Any
from uuid import UUID

from litestar import Request, Router, delete, get, post
from litestar.params import FromPath, JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.accounts.permissions import owner_names
from assay.accounts.tokens import create_token, revoke_own_token
from assay.model.account import Account
from assay.model.errors import Forbidden, NotFound
from assay.store.people.accounts import find_account
from assay.store.people.tokens import list_tokens
from assay.web.http.access import ACCOUNT
from assay.web.http.caller import session_of
from assay.web.http.context import Assay, CalledBy
from assay.web.http.errors import problems
from assay.web.http.json import LARGEST_REQUEST_BYTES
from assay.web.people.json import (
    NewTokenView,
    OkView,
    TenantsView,
    TenantView,
    TokenBody,
    TokensView,
    present_new_token,
    present_token,
)


@get("/tenants", summary="List the GitHub owners I control", responses=problems(400, 401, 403, 503))
async def list_tenants(assay: Assay, caller: CalledBy) -> TenantsView:
    """List the GitHub owners whose listings you may change: your own login, if you signed in with GitHub."""
    async with assay.store.snapshot() as db:
        account = await find_account(db, caller.account_id) if caller.account_id else None
    return TenantsView(tenants=[] if account is None else _tenants(account))


@get("/tokens", summary="List my tokens", responses=problems(400, 401, 403, 503))
async def list_my_tokens(assay: Assay, caller: CalledBy) -> TokensView:
    """List active tokens. Secrets are shown once, on creation."""
    if caller.account_id is None:
        return TokensView(tokens=[])
    async with assay.store.snapshot() as db:
        found = await list_tokens(db, caller.account_id, assay.clock.now())
    return TokensView(tokens=[present_token(each) for each in found])


@post(
    "/tokens",
    summary="Create a token",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 409, 413, 415, 503),
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def make_my_token(
    assay: Assay, caller: CalledBy, request: Request[Any, Any, Any], data: JSONBody[TokenBody]
) -> NewTokenView:
    """Create a token for a program. It has your permissions until it expires or you revoke it."""
    session = session_of(request)
    if session is None or not caller.is_signed_in or caller.by_token:
        raise Forbidden("Sign in to create a token; a key or another token cannot create one.", code="session_needed")
    async with assay.store.begin() as db:
        created = await create_token(db, session, data.label, data.expires_in_days, assay.clock.now())
    return present_new_token(created)


@delete(
    "/tokens/{token_id:str}",
    summary="Revoke a token",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 503),
)
async def revoke_my_token(assay: Assay, caller: CalledBy, token_id: FromPath[UUID]) -> OkView:
    """Revoke a token. Requests that use it are refused from now on."""
    if caller.account_id is None:
        raise NotFound("The internal key of the registry has no tokens.", code="token_not_found")
    async with assay.store.begin() as db:
        await revoke_own_token(db, caller.account_id, caller.name, token_id, assay.clock.now())
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
