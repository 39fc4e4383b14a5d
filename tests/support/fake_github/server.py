"""Serves a world on loopback with uvicorn, in a thread of the test process."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tests.support.fake_github.app import FakeGitHubApp
from tests.support.fake_github.world import FakeGitHub

_START_SECONDS = 30


@dataclass(frozen=True)
class FakeServer:
    """The address of a served world."""

    base_url: str

    def urls(self) -> dict[str, str]:
        """Return the settings that make Assay use this server as GitHub."""
        return {
            "ASSAY_GITHUB_API_URL": f"{self.base_url}/api",
            "ASSAY_GITHUB_RAW_URL": f"{self.base_url}/raw",
            "ASSAY_GITHUB_CODELOAD_URL": f"{self.base_url}/codeload",
            "ASSAY_GITHUB_WEB_URL": f"{self.base_url}/web",
        }


class Listener(uvicorn.Server):
    """Uvicorn on one loopback socket, with immediate start and stop instead of polling."""

    def __init__(self, world: FakeGitHub, port: int = 0) -> None:
        super().__init__(
            uvicorn.Config(
                FakeGitHubApp(world),
                http=_Protocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=75,
            )
        )
        # From here on the kernel accepts connections, even before the event loop runs.
        self.socket = socket.create_server(("127.0.0.1", port), backlog=2048)
        self.address = FakeServer(f"http://127.0.0.1:{self.socket.getsockname()[1]}")
        self.running = threading.Event()
        world.serve_at(self.address.base_url)

    def stop(self) -> None:
        """Stop the running server; callable from any thread."""
        self.running.wait()
        self._loop.call_soon_threadsafe(self._stopping.set)

    async def main_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self.running.set()
        # A signal may have arrived before there was anything to stop.
        if not self.should_exit:
            await self._stopping.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Abort all connections and wait for their handlers."""
        for server in self.servers:
            server.close()
        self.socket.close()
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.should_exit = True
        if self.running.is_set():
            self.stop()


class _Protocol(HttpToolsProtocol):
    """Passes the transport to the application, so that it can drop connections."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        state: dict[str, Any] = self.scope["state"]
        state["transport"] = self.transport


@contextmanager
def serve(world: FakeGitHub, port: int = 0) -> Iterator[FakeServer]:
    """Serve a world for the duration of the block."""
    listener = Listener(world, port)
    thread = threading.Thread(
        target=listener.run, kwargs={"sockets": [listener.socket]}, name="fake-github", daemon=True
    )
    thread.start()
    if not listener.running.wait(_START_SECONDS):
        raise RuntimeError("The fake GitHub did not start.")
    try:
        yield listener.address
    finally:
        listener.stop()
        thread.join()
