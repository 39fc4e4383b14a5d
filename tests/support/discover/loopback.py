"""Small web servers on loopback for services other than GitHub: npm, other registries, lists."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

Answer = Callable[[Mapping[str, str]], Any]


@asynccontextmanager
async def serving(routes: Mapping[str, Answer]) -> AsyncIterator[str]:
    """Serve GET routes as JSON, or as the response that a route returns; yield the base URL."""

    async def handle(request: web.Request) -> web.StreamResponse:
        route = routes.get(request.path)
        if route is None:
            return web.Response(status=404)
        answer = route(request.query)
        return answer if isinstance(answer, web.StreamResponse) else web.json_response(answer)

    app = web.Application()
    app.router.add_get("/{path:.*}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()
