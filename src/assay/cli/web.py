"""`assay web`: answers HTTP."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
import uvicorn

from assay import settings
from assay.app import open_app
from assay.cli.logs import set_up_logs
from assay.cli.stopping import run_until_done, stopping_event
from assay.model.errors import Conflict, Invalid
from assay.settings import Settings
from assay.web.app import create_app

STOP_SECONDS = 10


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: this process has one place that knows when to stop."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def web(
    fd: Annotated[int | None, typer.Option(hidden=True)] = None,
    supervised: Annotated[bool, typer.Option("--supervised", hidden=True)] = False,
) -> None:
    """Serve the API and the pages. Start as many as you like behind a load balancer."""
    set_up_logs("web")
    chosen = settings.with_secrets(settings.read())
    listener = listen(chosen) if fd is None else socket.socket(fileno=fd)
    run_until_done(_serve(chosen, listener, supervised=supervised))


def listen(chosen: Settings) -> socket.socket:
    """A listening socket, or one clear line why there is none."""
    family = socket.AF_INET6 if ":" in chosen.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    where = f"{chosen.host}:{chosen.port}"
    try:
        listener.bind((chosen.host, chosen.port))
        listener.listen(1024)
    except socket.gaierror:
        raise Invalid(f"ASSAY_HOST: {chosen.host!r} is not an address of this machine.") from None
    except OSError as problem:
        reason = "is already in use" if problem.errno == 98 else f"cannot be used: {problem.strerror}"
        raise Conflict(f"The address {where} {reason}: set ASSAY_PORT or ASSAY_HOST to another.") from None
    return listener


async def _serve(chosen: Settings, listener: socket.socket, *, supervised: bool) -> None:
    stopping = stopping_event(supervised=supervised)
    async with open_app(chosen, application="assay web") as app:
        config = uvicorn.Config(
            create_app(app),
            http="httptools",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=STOP_SECONDS,
        )
        server = _Server(config)
        serving = asyncio.create_task(server.serve([listener]))
        asked = asyncio.create_task(stopping.wait())
        await asyncio.wait({serving, asked}, return_when=asyncio.FIRST_COMPLETED)
        server.should_exit = True
        await serving
        asked.cancel()
