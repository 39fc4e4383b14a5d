"""Who may call what: a route declares its level, one guard decides, and what declares nothing is for admins only."""

from enum import StrEnum
from typing import assert_never

from litestar import Litestar
from litestar.handlers import BaseRouteHandler
from litestar.openapi.spec import Components, SecurityRequirement, SecurityScheme
from litestar.routes import HTTPRoute

from assay.model.account import ANONYMOUS, Caller
from assay.model.errors import Forbidden, Unauthenticated
from assay.web.http.bearer import not_proved, shown_token
from assay.web.http.caller import KEY_HEADER, Connection, has_lapsed, identify
from assay.web.http.cross_site import is_safe, refuse_cross_site
from assay.web.http.reader import wants_page
from assay.web.http.redirects import LAPSED, SIGN_IN_PATH


class Access(StrEnum):
    """Who may call a route."""

    PUBLIC = "public"
    ACCOUNT = "account"
    ADMIN = "admin"


# For the `opt` of a handler or router.
PUBLIC = {"access": Access.PUBLIC}
# The same, where not even a token is looked up: what answers when nothing else does.
UNASKED = {**PUBLIC, "is_unasked": True}
ACCOUNT = {"access": Access.ACCOUNT}
ADMIN = {"access": Access.ADMIN}

FOR_ADMINS_ONLY = ("/admin", "/api/v1/admin", "/api/v1/internal")
SCHEMES = Components(
    security_schemes={
        "internalKey": SecurityScheme(
            type="apiKey", name=KEY_HEADER, security_scheme_in="header", description="The key of the registry."
        ),
        "session": SecurityScheme(
            type="apiKey",
            name="assay_session",
            security_scheme_in="cookie",
            description="A person who has signed in; `__Host-assay_session` over https.",
        ),
        "token": SecurityScheme(
            type="http", scheme="bearer", description="A program of a person, by a token that begins with `vsk_`."
        ),
    }
)
PROOFS: list[SecurityRequirement] = [{"internalKey": []}, {"session": []}, {"token": []}]


async def check_access(connection: Connection, handler: BaseRouteHandler) -> None:
    """The one decision, before anything of a request is looked at. Not a plain function, which would get a thread."""
    if handler.opt.get("is_unasked"):
        return
    if wants_page(connection) and not _is_about_signing_in(connection) and has_lapsed(connection):
        raise Unauthenticated("Your session must be refreshed.", code=LAPSED)
    caller = await identify(connection)
    if not is_safe(connection):
        _refuse_in_anothers_name(connection, caller)
    if not _may(access_of(handler), caller):
        raise Forbidden("This is for administrators only.") if caller.is_signed_in else not_proved(connection)


def access_of(handler: BaseRouteHandler) -> Access:
    """The level that a route has declared."""
    return Access.PUBLIC if _is_options(handler) else Access(handler.opt.get("access", Access.ADMIN))


def check_routes(app: Litestar) -> None:
    """No start with a route that is open where only admins may go. The description says who may call what."""
    for route in app.routes:
        if not isinstance(route, HTTPRoute):
            raise TypeError(f"{route.path}: only HTTP routes have a level of access.")
        for handler in route.route_handlers:
            access = access_of(handler)
            if access is not Access.ADMIN and _is_closed(route.path) and not _is_options(handler):
                raise PermissionError(f"{route.path}: it must be for admins only, not {access.value}.")
            handler.security = [] if access is Access.PUBLIC else PROOFS


def _refuse_in_anothers_name(connection: Connection, caller: Caller) -> None:
    """What is written is written in the name that was meant, also where nobody has to say one."""
    # A cookie goes along with what another site sends; a token does not.
    if caller.is_signed_in and not caller.by_token:
        refuse_cross_site(connection)
    if caller == ANONYMOUS and shown_token(connection) is not None and not _is_about_signing_in(connection):
        raise not_proved(connection)


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


def _is_closed(path: str) -> bool:
    return any(path == prefix or path.startswith(f"{prefix}/") for prefix in FOR_ADMINS_ONLY)


def _is_about_signing_in(connection: Connection) -> bool:
    return connection.scope["path"].startswith(("/auth/", "/api/v1/auth/", SIGN_IN_PATH))


def _is_options(handler: BaseRouteHandler) -> bool:
    """The framework's own answer to OPTIONS, which says no more than what methods there are."""
    return handler.fn.__module__ == HTTPRoute.__module__
