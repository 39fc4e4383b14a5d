"""`assay web`: the HTTP server."""

import asyncio
import resource
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer
import uvicorn
from litestar.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from assay import settings
from assay.app.app import open_app
from assay.cli.process.listen import listen
from assay.cli.process.stopping import run_async, stopping_event
from assay.cli.ui.logs import configure_logs
from assay.runtime.heartbeat import heartbeat
from assay.settings import Settings
from assay.web.app import create_app, create_hub
from assay.web.http.sse import CUT

STOP_SECONDS = 10
MAX_OPEN_FILES = 65_536
KEEP_ALIVE_SECONDS = 75


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: `stopping_event` handles the signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Protocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol with an ASGI extension to abort a connection; closing one waits for the peer to read."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {CUT: {"abort": self.transport.abort}}


def web(
    fd: Annotated[int | None, typer.Option(hidden=True)] = None,
    supervised: Annotated[bool, typer.Option("--supervised", hidden=True)] = False,
) -> None:
    """Serve the API and the web pages. Any number of processes may run behind a load balancer."""
    configure_logs("web")
    config = settings.with_secrets(settings.read())
    listener = listen(config) if fd is None else socket.socket(fileno=fd)
    run_async(_serve(config, listener, supervised=supervised))


async def _serve(config: Settings, listener: socket.socket, *, supervised: bool) -> None:
    stopping = stopping_event(supervised=supervised)
    _allow_many_files()
    # `assay up` starts the embedded database before this process; an external one may be down, and reads still work.
    allow_database_down = config.database_url is not None
    async with (
        open_app(config, application="assay web", allow_database_down=allow_database_down) as app,
        heartbeat(app.store, "web", ruleset=app.ruleset.version),
    ):
        live = create_hub(app)
        server = _Server(server_config(create_app(app, live), config.trusted_networks))
        serving = asyncio.create_task(server.serve([listener]))
        stop_requested = asyncio.create_task(stopping.wait())
        await asyncio.wait({serving, stop_requested}, return_when=asyncio.FIRST_COMPLETED)
        await live.close()  # event streams never end by themselves
        server.should_exit = True
        await serving
        stop_requested.cancel()


def server_config(app: ASGIApp, trusted_networks: Sequence[str] = ()) -> uvicorn.Config:
    """Return uvicorn's configuration for the application. Forwarded headers of other networks are ignored."""
    return uvicorn.Config(
        app,
        http=_Protocol,
        log_config=None,
        access_log=False,
        server_header=False,
        # Both, because uvicorn would otherwise trust loopback and read further addresses from the environment.
        proxy_headers=bool(trusted_networks),
        forwarded_allow_ips=list(trusted_networks),
        timeout_graceful_shutdown=STOP_SECONDS,
        # Longer than the idle timeouts of proxies and clients, so that a reused connection is still open.
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )


def _allow_many_files() -> None:
    """Raise the soft limit of open files: each event stream needs one, and the usual limit is 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(MAX_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < target:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
