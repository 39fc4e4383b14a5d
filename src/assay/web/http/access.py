"""Access control: each route declares who may call it, administrators by default, and one guard enforces it.

Declarations are in the `opt` of a handler or its router. Routes that change something also declare the scope that a
token needs. `docs/access.md` is generated from the declarations.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from litestar import Litestar
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler
from litestar.routes import HTTPRoute

from assay.model.account import ANONYMOUS, Caller, Role, Scope
from assay.model.errors import AssayError, Forbidden, Unauthenticated
from assay.web.http.caller import KEY_HEADER, identify, needs_refresh, registry_token, unauthenticated
from assay.web.http.context import Connection
from assay.web.http.cookies import SAFE_METHODS, is_safe, require_same_origin
from assay.web.http.redirects import SESSION_EXPIRED, wants_page

INSUFFICIENT_SCOPE = "insufficient_scope"


class Access(StrEnum):
    PUBLIC = "public"
    ACCOUNT = "account"
    REVIEWER = "reviewer"
    ADMIN = "admin"


ROLES = {Access.REVIEWER: Role.REVIEWER, Access.ADMIN: Role.SUPER_ADMIN}

PUBLIC = {"access": Access.PUBLIC}
# Public, and credentials are ignored: for probes that must work without the database, and for signing in and out.
UNIDENTIFIED = {**PUBLIC, "is_unidentified": True}
# Public, and the handler verifies a signature over the body.
WEBHOOK = {**UNIDENTIFIED, "needs_signature": True}
# Public, and the handler verifies a refresh token.
REFRESH = {**UNIDENTIFIED, "needs_refresh_token": True}
ACCOUNT = {"access": Access.ACCOUNT}
REVIEWER = {"access": Access.REVIEWER}
ADMIN = {"access": Access.ADMIN}

# The scope that a token needs for a method that changes something. Safe methods need `read`, or none if the route is
# public; routes for reviewers and administrators need `moderate` and `admin`, whatever the method.
SUBMITTING = {"scope": Scope.SUBMIT}
PUBLISHING = {"scope": Scope.PUBLISH}
ANY_SCOPE = {"scope": None}

# For accounts that own the listing, the submission or the namespace; the handler calls `accounts/permissions.py`.
OWNER = {**ACCOUNT, **PUBLISHING, "is_for_owners": True}
# For people in a session, not for keys and tokens.
SESSION = {**ACCOUNT, **ANY_SCOPE, "needs_session": True}

FLAGS = ("is_for_owners", "needs_session", "needs_signature", "needs_refresh_token")
# Access levels that routes below these paths may have.
PROTECTED_PATHS = {
    "/admin": (Access.ADMIN, Access.REVIEWER),
    "/api/v1/admin": (Access.ADMIN, Access.REVIEWER),
    "/api/v1/internal": (Access.ADMIN,),
}


@dataclass(frozen=True, slots=True)
class RouteAccess:
    """The access of a route with one of its methods. `scope` is None if it is open to tokens of any scope."""

    level: Access
    scope: Scope | None
    is_unidentified: bool = False
    is_for_owners: bool = False
    needs_session: bool = False
    needs_signature: bool = False
    needs_refresh_token: bool = False

    @classmethod
    def of(cls, handler: BaseRouteHandler, method: str) -> Self:
        """Read the declaration; what it leaves out is closed."""
        declared: Mapping[str, Any] = PUBLIC if is_options(handler) else handler.opt
        level = Access(declared.get("access", Access.ADMIN))
        flags = {each: True for each in FLAGS if declared.get(each)}
        flags["is_unidentified"] = level is Access.PUBLIC and bool(declared.get("is_unidentified"))
        return cls(level, _scope(level, declared, method), **flags)

    @property
    def is_public(self) -> bool:
        return self.level is Access.PUBLIC

    def refusal(self, caller: Caller) -> AssayError | None:
        """Return why the caller may not call the route, apart from what they own."""
        if not (caller.is_signed_in or caller.is_admin):
            return None if self.is_public else Unauthenticated("Sign in, or send a valid key or token.")
        if self.level in ROLES and not caller.role.includes(ROLES[self.level]):
            return Forbidden(f"This is for {_plural(self.level)} only.")
        if self.needs_session and (caller.by_token or not caller.is_signed_in):
            return Forbidden("Sign in to do this; a key or a token cannot.", code="session_needed")
        return None if self._has_scope(caller) else _lacks_scope(self.scope)

    def _has_scope(self, caller: Caller) -> bool:
        # The scope `admin` of an administrator includes all others.
        return self.scope is None or caller.is_admin or caller.has_scope(self.scope)


async def check_access(connection: Connection, handler: BaseRouteHandler) -> None:
    """Identify the caller and raise Unauthenticated or Forbidden unless they may call this route.

    It is async because Litestar would run a plain function in a thread.
    """
    access = RouteAccess.of(handler, connection.scope["method"])  # type: ignore[typeddict-item]
    if access.is_unidentified:
        return
    if wants_page(connection) and not _is_sign_in(connection) and needs_refresh(connection):
        raise Unauthenticated("Your session must be refreshed.", code=SESSION_EXPIRED)
    caller = await identify(connection, checks_session=not (access.is_public and is_safe(connection)))
    if not is_safe(connection):
        _check_write(connection, caller)
    refusal = access.refusal(caller)
    if refusal is not None:
        raise unauthenticated(connection) if isinstance(refusal, Unauthenticated) else refusal


def check_routes(app: Litestar) -> None:
    """Raise PermissionError if the declaration of a route is missing or too open."""
    for route in app.routes:
        if not isinstance(route, HTTPRoute):
            raise TypeError(f"{route.path}: only HTTP routes have an access level.")
        for handler in route.route_handlers:
            if not is_options(handler):
                _check_route(route.path, handler)


def _check_route(path: str, handler: HTTPRouteHandler) -> None:
    """Raise PermissionError for a route that is open by mistake."""
    for method in handler.http_methods:
        access = RouteAccess.of(handler, method)
        allowed = _allowed_levels(path)
        if access.level not in allowed:
            raise PermissionError(f"{path}: it must be for {' or '.join(map(_plural, allowed))} only.")
        if not access.is_public and "degraded" in handler.opt:
            raise PermissionError(f"{path}: a degraded answer cannot check the caller, so the route must be public.")
        needs_scope = method not in SAFE_METHODS and access.level not in ROLES and not access.is_unidentified
        if needs_scope and "scope" not in handler.opt:
            raise PermissionError(f"{method} {path}: it changes something and must declare the scope of tokens.")


def _scope(level: Access, declared: Mapping[str, Any], method: str) -> Scope | None:
    if level in ROLES:
        return Scope.MODERATE if level is Access.REVIEWER else Scope.ADMIN
    if method in SAFE_METHODS:
        return None if level is Access.PUBLIC else Scope.READ
    scope: Scope | None = declared.get("scope", Scope.ADMIN)
    return scope


def _check_write(connection: Connection, caller: Caller) -> None:
    """Refuse writes that a foreign page sends with a session cookie, and writes with an invalid token or key.

    A public route would otherwise record them as anonymous.
    """
    # Browsers attach cookies to requests of other sites; they do not attach tokens.
    if caller.is_signed_in and not caller.by_token:
        require_same_origin(connection)
    if caller == ANONYMOUS and (KEY_HEADER in connection.headers or registry_token(connection) is not None):
        raise unauthenticated(connection)


def _lacks_scope(scope: Scope | None) -> Forbidden:
    return Forbidden(
        f"This token lacks the scope {scope}. Create a token that has it.", code=INSUFFICIENT_SCOPE, scope=scope
    )


def _allowed_levels(path: str) -> tuple[Access, ...]:
    for prefix, levels in PROTECTED_PATHS.items():
        if path == prefix or path.startswith(f"{prefix}/"):
            return levels
    return tuple(Access)


def _plural(level: Access) -> str:
    return "administrators" if level is Access.ADMIN else f"{level}s"


def _is_sign_in(connection: Connection) -> bool:
    return connection.scope["path"].startswith("/auth/")


def is_options(handler: BaseRouteHandler) -> bool:
    """Return whether this is Litestar's own OPTIONS handler, which only lists the methods of a path."""
    return handler.fn.__module__ == HTTPRoute.__module__
