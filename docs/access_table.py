"""The table of every route and every kind of caller, generated from the declarations of the routes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from litestar import Litestar
from litestar.routes import HTTPRoute

from assay.model.account import ANONYMOUS, INTERNAL_KEY, Caller, Role, Scope
from assay.web.app import build_routes
from assay.web.http.access import Access, RouteAccess, is_options
from assay.web.http.cookies import SAFE_METHODS

ALLOWED, UNAUTHENTICATED, FORBIDDEN = "yes", "401", "403"
SOMEONE = UUID(int=1)
PARAMETER_TYPE = re.compile(r":\w+(?=})")


@dataclass(frozen=True)
class Kind:
    """A kind of caller. A stale credential was valid once: it has expired, was revoked, or its account is disabled."""

    title: str
    caller: Caller
    is_owner: bool = False
    is_stale: bool = False


def _session(role: Role) -> Caller:
    return Caller(SOMEONE, "someone", is_admin=role is Role.SUPER_ADMIN, role=role)


def _token(role: Role, scope: Scope) -> Caller:
    is_admin = role is Role.SUPER_ADMIN and scope is Scope.ADMIN
    return Caller(SOMEONE, "someone", is_admin=is_admin, by_token=True, role=role, scopes=frozenset({scope}))


KINDS = {
    "anonymous": Kind("anonymous", ANONYMOUS),
    "read": Kind("owner's token `read`", _token(Role.USER, Scope.READ), is_owner=True),
    "submit": Kind("owner's token `submit`", _token(Role.USER, Scope.SUBMIT), is_owner=True),
    "publish": Kind("owner's token `publish`", _token(Role.USER, Scope.PUBLISH), is_owner=True),
    "other": Kind("owner of another namespace", _session(Role.USER)),
    "owner": Kind("owner", _session(Role.USER), is_owner=True),
    "reviewer": Kind("reviewer", _session(Role.REVIEWER)),
    "moderate": Kind("reviewer's token `moderate`", _token(Role.REVIEWER, Scope.MODERATE)),
    "administrator": Kind("administrator", _session(Role.SUPER_ADMIN)),
    "admin": Kind("administrator's token `admin`", _token(Role.SUPER_ADMIN, Scope.ADMIN)),
    "key": Kind("internal key", INTERNAL_KEY),
    "stale token": Kind("expired or revoked token", ANONYMOUS, is_stale=True),
    "stale session": Kind("expired or ended session", ANONYMOUS, is_stale=True),
}


def all_routes(app: Litestar) -> Iterator[tuple[str, str, RouteAccess]]:
    """Yield method, path and access of every route, without the framework's OPTIONS handlers."""
    for route in sorted(app.routes, key=lambda each: each.path):
        assert isinstance(route, HTTPRoute)
        for handler in sorted(route.route_handlers, key=lambda each: min(each.http_methods)):
            if not is_options(handler):
                yield from (
                    (method, route.path, RouteAccess.of(handler, method)) for method in sorted(handler.http_methods)
                )


def decision(method: str, access: RouteAccess, kind: Kind) -> str:
    """Return what a kind of caller gets: an answer, 401 or 403."""
    if access.needs_signature or access.needs_refresh_token:
        return UNAUTHENTICATED
    if access.is_unidentified:
        return ALLOWED
    if kind.is_stale:
        return ALLOWED if access.level is Access.PUBLIC and method in SAFE_METHODS else UNAUTHENTICATED
    refused = access.refusal(kind.caller)
    if refused is not None:
        return UNAUTHENTICATED if kind.caller == ANONYMOUS else FORBIDDEN
    is_foreign = access.is_for_owners and not kind.is_owner and not kind.caller.is_admin
    return FORBIDDEN if is_foreign else ALLOWED


def access_table() -> str:
    titles = ["route", "for", "scope", *(kind.title for kind in KINDS.values())]
    rows = [_row(method, path, access) for method, path, access in all_routes(build_routes())]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [titles, ["---"] * len(titles), *rows])


def _row(method: str, path: str, access: RouteAccess) -> list[str]:
    route = f"`{method} {PARAMETER_TYPE.sub('', path)}`"
    return [route, _audience(access), _scope(access), *(decision(method, access, kind) for kind in KINDS.values())]


def _audience(access: RouteAccess) -> str:
    if access.needs_signature:
        return "signed requests"
    if access.needs_refresh_token:
        return "refresh tokens"
    if access.needs_session:
        return "signed-in people"
    if access.is_for_owners:
        return "owner"
    return {Access.PUBLIC: "anyone", Access.ACCOUNT: "any account"}.get(access.level, f"{access.level}s")


def _scope(access: RouteAccess) -> str:
    return f"`{access.scope}`" if access.scope and not access.is_unidentified else ""
