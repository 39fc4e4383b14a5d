"""`/api/v1/account/tokens`: the caller's tokens for programs."""

from typing import Any
from uuid import UUID

from litestar import Request, delete, get, post
from litestar.params import FromPath, JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.accounts.tokens import TokenRequest, create_token, revoke_own_token
from assay.app.app import App
from assay.model.account import DEFAULT_SCOPES, Caller
from assay.model.errors import NotFound, Unauthenticated
from assay.store.people.tokens import list_tokens
from assay.web.http.access import ANY_SCOPE, PUBLISHING, SESSION
from assay.web.http.caller import session_of
from assay.web.http.context import Assay, CalledBy
from assay.web.http.errors import problems
from assay.web.http.json import LARGEST_REQUEST_BYTES
from assay.web.http.limits import LimitClass, limited
from assay.web.people.json import NewTokenView, OkView, TokenBody, TokensView, present_new_token, present_token


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
    opt=SESSION | limited(LimitClass.CLAIMS),
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 409, 413, 415, 503),
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def make_my_token(assay: Assay, request: Request[Any, Any, Any], data: JSONBody[TokenBody]) -> NewTokenView:
    """Create a token for a program. It is valid until it expires or you revoke it.

    By default it may read, submit and publish in all your namespaces. `scopes` and `namespaces` limit it; the scopes
    `moderate` and `admin` need the role of a reviewer or an administrator. A key or another token cannot create one.
    """
    session = session_of(request)
    if session is None:
        raise Unauthenticated("The session has ended. Sign in again.", code="session_over")
    async with assay.store.begin() as db:
        created = await create_token(db, session, _request(data), assay.clock.now())
    return present_new_token(created)


@delete(
    "/tokens/current",
    summary="Revoke the token of this request",
    opt=ANY_SCOPE,
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 503),
)
async def revoke_current_token(assay: Assay, caller: CalledBy) -> OkView:
    """Revoke the token with which this request is authenticated, whatever its scopes."""
    if caller.token_id is None:
        raise NotFound("This request was not made with a token.", code="token_not_found")
    return await _revoke(assay, caller, caller.token_id)


@delete(
    "/tokens/{token_id:str}",
    summary="Revoke a token",
    opt=PUBLISHING,
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 503),
)
async def revoke_my_token(assay: Assay, caller: CalledBy, token_id: FromPath[UUID]) -> OkView:
    """Revoke a token. Requests that use it are refused from now on."""
    return await _revoke(assay, caller, token_id)


async def _revoke(assay: App, caller: Caller, token_id: UUID) -> OkView:
    if caller.account_id is None:
        raise NotFound("The internal key of the registry has no tokens.", code="token_not_found")
    async with assay.store.begin() as db:
        await revoke_own_token(db, caller.account_id, caller.name, token_id, assay.clock.now())
    return OkView()


def _request(body: TokenBody) -> TokenRequest:
    scopes = DEFAULT_SCOPES if body.scopes is None else frozenset(body.scopes)
    namespaces = None if body.namespaces is None else frozenset(body.namespaces)
    return TokenRequest(body.label, body.expires_in_days, scopes, namespaces)
