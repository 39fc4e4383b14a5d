"""`assay web`: answers HTTP."""

import asyncio
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
import uvicorn
from litestar.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from assay import settings
from assay.app.app import open_app
from assay.cli.process.listen import listen
from assay.cli.process.stopping import run_until_done, stopping_event
from assay.cli.ui.logs import set_up_logs
from assay.runtime.heartbeat import heartbeat
from assay.settings import Settings
from assay.web.app import create_app, create_hub
from assay.web.http.sse import CUT

STOP_SECONDS = 10
MOST_FILES = 65_536
KEEP_ALIVE_SECONDS = 75


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: this process has one place that knows when to stop."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Protocol(HttpToolsProtocol):
    """uvicorn's HTTP, which also lets the application cut a connection: closing waits until the other side reads."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {CUT: {"abort": self.transport.abort}}


def web(
    fd: Annotated[int | None, typer.Option(hidden=True)] = None,
    supervised: Annotated[bool, typer.Option("--supervised", hidden=True)] = False,
) -> None:
    """Serve the API and the pages. Start as many as you like behind a load balancer."""
    set_up_logs("web")
    chosen = settings.with_secrets(settings.read())
    listener = listen(chosen) if fd is None else socket.socket(fileno=fd)
    run_until_done(_serve(chosen, listener, supervised=supervised))


async def _serve(chosen: Settings, listener: socket.socket, *, supervised: bool) -> None:
    stopping = stopping_event(supervised=supervised)
    _allow_many_files()
    # An embedded database is started before this process; any other may come later, and reading goes on without it.
    may_wait = chosen.database_url is not None
    async with (
        open_app(chosen, application="assay web", may_wait=may_wait) as app,
        heartbeat(app.store, "web", ruleset=app.ruleset.version),
    ):
        live = create_hub(app)
        server = _Server(server_config(create_app(app, live)))
        serving = asyncio.create_task(server.serve([listener]))
        asked = asyncio.create_task(stopping.wait())
        await asyncio.wait({serving, asked}, return_when=asyncio.FIRST_COMPLETED)
        await live.close()  # streams have no end of their own to wait for
        server.should_exit = True
        await serving
        asked.cancel()


def server_config(app: ASGIApp) -> uvicorn.Config:
    """How uvicorn serves this application."""
    return uvicorn.Config(
        app,
        http=_Protocol,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
        # Longer than proxies and clients keep theirs: who uses a connection again must not meet its end.
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )


def _allow_many_files() -> None:
    """Every open stream is an open file, and many systems start a process with room for 1,024."""
    few, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if most == resource.RLIM_INFINITY else min(MOST_FILES, most)
    if few != resource.RLIM_INFINITY and few < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
