"""The registry a request is for, and the dependencies that handlers may declare."""

from dataclasses import dataclass
from typing import Any, cast

from litestar.connection import ASGIConnection, Request
from litestar.di import NamedDependency
from litestar.params import SkipValidation
from litestar.types import ASGIApp, Receive, Scope, Send

from assay.app.app import App
from assay.model.account import Caller
from assay.serve.feed.hub import Hub
from assay.web.http.read_limit import ReadLimit
from assay.web.http.traffic import Traffic

KEY = "assay.context"
Connection = ASGIConnection[Any, Any, Any, Any]
AnyRequest = Request[Any, Any, Any]

# Litestar injects these by the name of the handler's parameter: `assay`, `caller`, `live`, `traffic`, `requested_name`.
Assay = NamedDependency[SkipValidation[App]]
CalledBy = NamedDependency[SkipValidation[Caller]]
Live = NamedDependency[SkipValidation[Hub]]
Counted = NamedDependency[SkipValidation[Traffic]]
RequestedName = NamedDependency[SkipValidation[str]]


@dataclass(frozen=True)
class RequestContext:
    """A registry with the live events, metrics and limit on reads of one web process.

    It travels in the scope of each request, so that one set of routes can serve any registry.
    """

    assay: App
    live: Hub
    traffic: Traffic
    reads: ReadLimit

    def wrap(self, routes: ASGIApp) -> ASGIApp:
        """Return an application that serves these routes for this registry."""

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            cast("dict[str, Any]", scope)[KEY] = self
            await routes(scope, receive, send)

        return serve


def context_of(scope: Scope) -> RequestContext:
    context: RequestContext = cast("dict[str, Any]", scope)[KEY]
    return context


def registry_of(connection: Connection) -> App:
    return context_of(connection.scope).assay
