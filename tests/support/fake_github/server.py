"""A world served on loopback by uvicorn, in a thread of the test's own process."""

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
    """Where a world is served."""

    base_url: str

    def urls(self) -> dict[str, str]:
        """The settings that make assay take this for GitHub."""
        return {
            "ASSAY_GITHUB_API_URL": f"{self.base_url}/api",
            "ASSAY_GITHUB_RAW_URL": f"{self.base_url}/raw",
            "ASSAY_GITHUB_CODELOAD_URL": f"{self.base_url}/codeload",
            "ASSAY_GITHUB_WEB_URL": f"{self.base_url}/web",
        }


class Listener(uvicorn.Server):
    """Uvicorn on one loopback socket that starts and stops at once instead of by polling."""

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
        # The kernel accepts connections from here on, before the event loop runs.
        self.socket = socket.create_server(("127.0.0.1", port), backlog=2048)
        self.address = FakeServer(f"http://127.0.0.1:{self.socket.getsockname()[1]}")
        self.running = threading.Event()
        world.serve_at(self.address.base_url)

    def stop(self) -> None:
        """Ask the running server to end, from any thread."""
        self.running.wait()
        self._loop.call_soon_threadsafe(self._stopping.set)

    async def main_loop(self) -> None:
        """Serve until asked to stop."""
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self.running.set()
        # A signal that came before this moment found nothing to stop.
        if not self.should_exit:
            await self._stopping.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Hang up on everybody; the answers under way notice and end."""
        for server in self.servers:
            server.close()
        self.socket.close()
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal ends the server in peace."""
        self.should_exit = True
        if self.running.is_set():
            self.stop()


class _Protocol(HttpToolsProtocol):
    """Hands the transport to the application, which hangs up on demand."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        state: dict[str, Any] = self.scope["state"]
        state["transport"] = self.transport


@contextmanager
def serve(world: FakeGitHub, port: int = 0) -> Iterator[FakeServer]:
    """Serve a world while the block runs."""
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
