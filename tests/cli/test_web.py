"""The HTTP server as `assay web` configures it."""

import asyncio
import socket
from typing import Any

import uvicorn

from assay.cli.web import server_config

REQUEST = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
# Many proxies and clients keep an idle connection for a minute.
A_LONG_PAUSE_SECONDS = 60


async def greet(scope: Any, _receive: Any, send: Any) -> None:
    """Answer every request with a greeting."""
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"hi"})


async def test_idle_connections_are_kept_alive() -> None:
    """Otherwise a proxy that reuses one would return 502."""
    config = server_config(greet)
    config.load()
    config.lifespan = "off"
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        await server.startup([listener])
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(REQUEST)
        assert (await reader.readuntil(b"hi")).startswith(b"HTTP/1.1 200")
        (idle,) = server.server_state.connections
        ends_in = idle.timeout_keep_alive_task.when() - asyncio.get_running_loop().time()
        writer.write(REQUEST)
        assert (await reader.readuntil(b"hi")).startswith(b"HTTP/1.1 200")
        writer.close()
        await server.shutdown([listener])
    assert ends_in > A_LONG_PAUSE_SECONDS
