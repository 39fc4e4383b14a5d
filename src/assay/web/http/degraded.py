"""Degraded answers: responses from the edge copy or the starter catalogue while the database is down.

A route declares its degraded answer in its `opt`, next to its access level: `opt=PUBLIC | degraded(answer)`. Routes
without one respond with 503, because unknown is neither zero nor empty. Each degraded answer is marked as such.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException
from litestar.response import Template
from litestar.types import Receive, Scope, Send

from assay.edge.kv import EDGE_UNAVAILABLE
from assay.model.account import ANONYMOUS, Caller
from assay.model.errors import AssayError, Unavailable
from assay.serve.operations.edge_copy import EdgeOrigin
from assay.store.database.database import DATABASE_UNAVAILABLE
from assay.web.http.caller import caller_of, registry_token
from assay.web.http.context import registry_of
from assay.web.http.parameters import read_parameters

log = structlog.get_logger()
HEADER = "X-Assay-Degraded"
Parameters = TypeVar("Parameters")


class DegradedRequest:
    """A request whose handler, or whose access check, found the database down."""

    def __init__(self, http: Request[Any, Any, Any]) -> None:
        self.http = http
        self.assay = registry_of(http)

    @property
    def caller(self) -> Caller:
        """Return the caller; raise Unavailable for a bearer token, which cannot be looked up."""
        caller = caller_of(self.http)
        if caller == ANONYMOUS and registry_token(self.http) is not None:
            raise Unavailable(
                "The database is unavailable, so this token cannot be checked.", code=DATABASE_UNAVAILABLE
            )
        return caller

    def path(self, name: str) -> str:
        return str(self.http.path_params[name])

    def parameters(self, kind: type[Parameters]) -> Parameters:
        """Return the query parameters as the handler of the route gets them."""
        return read_parameters(self.http, kind)

    def ignored(self, *heeded: str) -> tuple[str, ...]:
        """Return the query parameters that were sent and are not among those heeded."""
        return tuple(sorted(set(self.http.query_params) - set(heeded)))


@dataclass(frozen=True)
class DegradedMark:
    """The source of a degraded answer, the time until which it is complete, and the parameters it ignores."""

    origin: EdgeOrigin
    as_of: datetime | None
    ignored: tuple[str, ...] = ()

    @property
    def headers(self) -> dict[str, str]:
        return {HEADER: self.origin.value, "Cache-Control": "no-store"}

    def json(self, body: object, **headers: str) -> Response[dict[str, Any]]:
        """Return the usual JSON of the route with the marks added to it."""
        marks: dict[str, Any] = {"degraded": True, "source": self.origin.value, "asOf": self.as_of}
        if self.ignored:
            marks["ignored"] = list(self.ignored)
        plain = msgspec.to_builtins(body, builtin_types=(datetime,))
        return Response({**plain, **marks}, headers=self.headers | headers)

    def page(self, template: str, context: Mapping[str, object]) -> Template:
        """Return a page with a notice at its top."""
        return Template(template, context={**context, "degraded": self}, headers=self.headers)


DegradedAnswer = Callable[[DegradedRequest], Awaitable[Response[Any]]]
Refuse = Callable[[AssayError | HTTPException], Response[Any]]


def degraded(answer: DegradedAnswer) -> dict[str, Any]:
    """Return the `opt` of a route that can be answered without the database."""
    return {"degraded": answer}


def answer_without_database(request: Request[Any, Any, Any], error: AssayError, refuse: Refuse) -> Response[Any] | None:
    """Return the degraded answer if the error is a database outage and the route declares one."""
    handler = request.scope.get("route_handler")
    answer = handler.opt.get("degraded") if handler is not None else None
    if error.code != DATABASE_UNAVAILABLE or request.method != "GET" or answer is None:
        return None
    return _DegradedResponse(answer, refuse)


class _DegradedResponse(Response[None]):
    """A response that is computed while it is sent, because exception handlers cannot await."""

    def __init__(self, answer: DegradedAnswer, refuse: Refuse) -> None:
        super().__init__(None)
        self._answer, self._refuse = answer, refuse

    def to_asgi_response(self, app: Any, request: Request[Any, Any, Any], **_: Any) -> Any:
        async def send_response(scope: Scope, receive: Receive, send: Send) -> None:
            response = await self._compute(request)
            await response.to_asgi_response(app=None, request=request)(scope, receive, send)

        return send_response

    async def _compute(self, http: Request[Any, Any, Any]) -> Response[Any]:
        request = DegradedRequest(http)
        try:
            try:
                return await self._answer(request)
            except Unavailable as error:
                if error.code != EDGE_UNAVAILABLE:
                    raise
                # The edge copy went down after it had been loaded: fall back to the next source.
                request.assay.copy.forget()
                return await self._answer(request)
        except (AssayError, HTTPException) as error:
            log.info("Refused a request while the database is down", path=http.url.path, error=str(error))
            refused = self._refuse(error)
            refused.headers.setdefault(HEADER, "refused")
            return refused
