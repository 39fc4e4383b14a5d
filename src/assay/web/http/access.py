"""Access control: each route declares who may call it, administrators by default, and one guard enforces it."""

from enum import StrEnum
from typing import assert_never

from litestar import Litestar
from litestar.handlers import BaseRouteHandler
from litestar.openapi.spec import Components, SecurityRequirement, SecurityScheme
from litestar.routes import HTTPRoute

from assay.model.account import ANONYMOUS, Caller
from assay.model.errors import Forbidden, Unauthenticated
from assay.web.http.caller import KEY_HEADER, identify, needs_refresh, registry_token, unauthenticated
from assay.web.http.context import Connection
from assay.web.http.cookies import is_safe, require_same_origin
from assay.web.http.redirects import SESSION_EXPIRED, SIGN_IN_PATH, wants_page


class Access(StrEnum):
    PUBLIC = "public"
    ACCOUNT = "account"
    ADMIN = "admin"


# For the `opt` of a handler or router.
PUBLIC = {"access": Access.PUBLIC}
# Public, and the caller is not identified: for probes that must work without the database.
UNIDENTIFIED = {**PUBLIC, "is_unidentified": True}
ACCOUNT = {"access": Access.ACCOUNT}
ADMIN = {"access": Access.ADMIN}

FOR_ADMINS_ONLY = ("/admin", "/api/v1/admin", "/api/v1/internal")
SCHEMES = Components(
    security_schemes={
        "internalKey": SecurityScheme(
            type="apiKey",
            name=KEY_HEADER,
            security_scheme_in="header",
            description="The internal key of the registry, for operators and scan nodes.",
        ),
        "session": SecurityScheme(
            type="apiKey",
            name="assay_session",
            security_scheme_in="cookie",
            description="The session of a signed-in person. Over https the cookie is named `__Host-assay_session`.",
        ),
        "token": SecurityScheme(
            type="http",
            scheme="bearer",
            description="A personal access token, which begins with `vsk_`.",
        ),
    }
)
CREDENTIALS: list[SecurityRequirement] = [{"internalKey": []}, {"session": []}, {"token": []}]


async def check_access(connection: Connection, handler: BaseRouteHandler) -> None:
    """Identify the caller and raise Unauthenticated or Forbidden unless they may call this route.

    It is async because Litestar would run a plain function in a thread.
    """
    if handler.opt.get("is_unidentified"):
        return
    if wants_page(connection) and not _is_sign_in(connection) and needs_refresh(connection):
        raise Unauthenticated("Your session must be refreshed.", code=SESSION_EXPIRED)
    caller = await identify(connection)
    if not is_safe(connection):
        _check_write(connection, caller)
    if not _may(access_of(handler), caller):
        raise Forbidden("This is for administrators only.") if caller.is_signed_in else unauthenticated(connection)


def access_of(handler: BaseRouteHandler) -> Access:
    return Access.PUBLIC if _is_options(handler) else Access(handler.opt.get("access", Access.ADMIN))


def check_routes(app: Litestar) -> None:
    """Document who may call each route, and raise PermissionError if an admin path is open to others."""
    for route in app.routes:
        if not isinstance(route, HTTPRoute):
            raise TypeError(f"{route.path}: only HTTP routes have an access level.")
        for handler in route.route_handlers:
            access = access_of(handler)
            if access is not Access.ADMIN and _is_admin_path(route.path) and not _is_options(handler):
                raise PermissionError(f"{route.path}: it must be for administrators only, not {access.value}.")
            handler.security = [] if access is Access.PUBLIC else CREDENTIALS


def _check_write(connection: Connection, caller: Caller) -> None:
    """Refuse writes that a foreign page sends with a session cookie, and writes with an invalid token.

    A public route would otherwise record a write with an invalid token as anonymous.
    """
    # Browsers attach cookies to requests of other sites; they do not attach tokens.
    if caller.is_signed_in and not caller.by_token:
        require_same_origin(connection)
    if caller == ANONYMOUS and registry_token(connection) is not None and not _is_sign_in(connection):
        raise unauthenticated(connection)


def _may(access: Access, caller: Caller) -> bool:
    match access:
        case Access.PUBLIC:
            return True
        case Access.ACCOUNT:
            return caller.is_signed_in or caller.is_admin
        case Access.ADMIN:
            return caller.is_admin
        case _:
            assert_never(access)


def _is_admin_path(path: str) -> bool:
    return any(path == prefix or path.startswith(f"{prefix}/") for prefix in FOR_ADMINS_ONLY)


def _is_sign_in(connection: Connection) -> bool:
    return connection.scope["path"].startswith(("/auth/", "/api/v1/auth/", SIGN_IN_PATH))


def _is_options(handler: BaseRouteHandler) -> bool:
    """Return whether this is Litestar's own OPTIONS handler, which only lists the methods of a path."""
    return handler.fn.__module__ == HTTPRoute.__module__
