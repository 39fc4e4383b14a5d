"""HEAD: whatever GET answers, without the body."""

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send


def answer_head(app: ASGIApp) -> ASGIApp:
    """Around the router, so that no route needs a second method."""

    async def answering(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or scope["method"] != "HEAD":
            return await app(scope, receive, send)

        async def without_body(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        return await app({**scope, "method": "GET"}, receive, without_body)

    return answering
