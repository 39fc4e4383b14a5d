"""The web server as `assay web` sets it up, on a real connection."""

import asyncio
import socket
from typing import Any

import uvicorn

from assay.cli.web import server_config

REQUEST = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
# Many proxies and clients keep a connection for a minute before they use it again.
A_LONG_PAUSE_SECONDS = 60


async def greet(scope: Any, _receive: Any, send: Any) -> None:
    """Answers anything, and nothing else."""
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"hi"})


async def test_a_connection_outlives_the_pauses_of_who_uses_it() -> None:
    """A proxy that uses an idle connection again must not meet its end: it would answer 502 in our name."""
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
