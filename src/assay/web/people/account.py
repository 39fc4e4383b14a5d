"""`/api/v1/account`: the caller's account, what it owns, its tokens and its sessions."""

from litestar import Router, get

from assay.accounts.permissions import owned_namespaces
from assay.model.account import Account, Caller
from assay.model.errors import Unauthenticated
from assay.model.namespace import OPERATOR_NAMESPACE, Namespace, NamespaceKind
from assay.store.people.accounts import find_account
from assay.store.people.tokens import list_tokens
from assay.web.http.access import ACCOUNT
from assay.web.http.context import Assay, CalledBy
from assay.web.http.errors import problems
from assay.web.people.json import (
    AccountView,
    OwnedNamespaceView,
    TenantsView,
    TenantView,
    present_token,
)
from assay.web.people.open_sessions import list_my_sessions, revoke_my_session
from assay.web.people.tokens import list_my_tokens, make_my_token, revoke_current_token, revoke_my_token


@get("/", summary="Get my account", responses=problems(400, 401, 403, 503))
async def get_account(assay: Assay, caller: CalledBy) -> AccountView:
    """Return the account of the caller, the namespaces for which it may act, and the limits of the token in use.

    The internal key acts in the namespace `local`.
    """
    if caller.account_id is None:
        return _operator(caller)
    async with assay.store.snapshot() as db:
        account = await find_account(db, caller.account_id)
        if account is None:
            raise Unauthenticated("The session has ended. Sign in again.", code="session_over")
        namespaces = await owned_namespaces(db, account)
        tokens = await list_tokens(db, account.id, assay.clock.now()) if caller.by_token else []
    current = next((each for each in tokens if each.id == caller.token_id), None)
    return AccountView(
        login=account.login,
        handle=account.handle,
        role=caller.role,
        namespaces=[OwnedNamespaceView.of(each) for each in namespaces if caller.covers(each.name)],
        token=present_token(current) if current else None,
    )


@get("/tenants", summary="List the GitHub owners I control", responses=problems(400, 401, 403, 503))
async def list_tenants(assay: Assay, caller: CalledBy) -> TenantsView:
    """List the GitHub owners for which you may act: your own login, and the organisations that you have claimed."""
    async with assay.store.snapshot() as db:
        account = await find_account(db, caller.account_id) if caller.account_id else None
        owned = [] if account is None else await owned_namespaces(db, account)
    return TenantsView(tenants=[_tenant(each, account) for each in owned if account and _is_tenant(each, caller)])


def _operator(caller: Caller) -> AccountView:
    own = OwnedNamespaceView(name=OPERATOR_NAMESPACE, kind=NamespaceKind.OPERATOR)
    return AccountView(login=caller.name, handle=OPERATOR_NAMESPACE, role=caller.role, namespaces=[own], token=None)


def _is_tenant(owned: Namespace, caller: Caller) -> bool:
    return owned.kind is NamespaceKind.GITHUB and owned.github_id is not None and caller.covers(owned.name)


def _tenant(owned: Namespace, account: Account) -> TenantView:
    number, is_own = str(owned.github_id), owned.name == account.login.lower()
    name = account.login if is_own else owned.name
    return TenantView(tenant_id=number, id=number, slug=owned.name, name=name, role="owner", installation_id=None)


router = Router(
    "/api/v1/account",
    tags=["accounts"],
    opt=ACCOUNT,
    route_handlers=[
        get_account,
        list_tenants,
        list_my_tokens,
        make_my_token,
        revoke_current_token,
        revoke_my_token,
        list_my_sessions,
        revoke_my_session,
    ],
)
