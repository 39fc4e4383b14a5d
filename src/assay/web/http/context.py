"""What stands behind the routes. It comes with each request, so that the routes are made once and know no registry."""

from dataclasses import dataclass
from typing import Any, cast

from litestar.types import ASGIApp, Receive, Scope, Send

from assay.app.app import App
from assay.serve.feed.hub import Hub
from assay.web.http.traffic import Traffic

KEY = "assay.behind"


@dataclass(frozen=True)
class Behind:
    """A registry, and what one web process keeps of it."""

    assay: App
    live: Hub
    traffic: Traffic

    def answer_with(self, routes: ASGIApp) -> ASGIApp:
        """These routes, in front of this registry."""

        async def answering(scope: Scope, receive: Receive, send: Send) -> None:
            cast("dict[str, Any]", scope)[KEY] = self
            await routes(scope, receive, send)

        return answering


def behind(scope: Scope) -> Behind:
    """What this request is answered from."""
    found: Behind = cast("dict[str, Any]", scope)[KEY]
    return found
