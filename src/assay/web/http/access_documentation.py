"""The access of each route in the API document: security schemes, scopes of tokens, and refusals."""

from collections.abc import Iterator

from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import Components, SecurityRequirement, SecurityScheme
from litestar.routes import HTTPRoute

from assay.web.http.access import RouteAccess, is_options
from assay.web.http.caller import KEY_HEADER
from assay.web.http.cookies import SAFE_METHODS
from assay.web.http.errors import problems

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
            description="A personal access token, which begins with `vsk_`, with the scope that is listed.",
        ),
    }
)


def document_access(app: Litestar) -> None:
    """Add credentials and refusals to the documentation of each route."""
    for route in app.routes:
        for handler in route.route_handlers if isinstance(route, HTTPRoute) else ():
            access = RouteAccess.of(handler, min(handler.http_methods))
            handler.security = list(_credentials(access))
            if not is_options(handler) and not access.is_unidentified and not _is_public_read(access, handler):
                handler.responses = {**problems(401, 403), **(handler.responses or {})}


def _credentials(access: RouteAccess) -> Iterator[SecurityRequirement]:
    if access.is_public:
        return
    if not access.needs_session:
        yield {"internalKey": []}
    yield {"session": []}
    if not access.needs_session:
        yield {"token": [access.scope.value] if access.scope else []}


def _is_public_read(access: RouteAccess, handler: HTTPRouteHandler) -> bool:
    return access.is_public and handler.http_methods <= SAFE_METHODS
