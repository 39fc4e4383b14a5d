"""`assay up`: PostgreSQL, web process, worker and optional processes under one supervisor."""

import asyncio
import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from assay import __version__, settings
from assay.app.app import database_url, embedded_server, read_rules
from assay.cli.migrate import migrate_database
from assay.cli.process.listen import listen
from assay.cli.process.stopping import run_async, stopping_event
from assay.cli.process.supervisor import Child, keep_alive, keep_server_alive
from assay.cli.scan_node import HOW_TO_INSTALL, tools_installed
from assay.model.errors import Conflict
from assay.settings import Settings

console = Console(stderr=True, highlight=False)


def up() -> None:
    """Start everything on this machine and keep it running until Ctrl-C.

    Starts PostgreSQL (unless ASSAY_DATABASE_URL is set), the web process, a worker and, if configured, the crawler and
    a scan node.
    """
    config = settings.with_secrets(settings.read())
    # Each process reads the rules itself; reading them here reports an error once, before anything starts.
    read_rules(config)
    with _lock_data_dir(config):
        run_async(_up(config))


async def _up(config: Settings) -> None:
    stopping = stopping_event(supervised=False)
    listener = listen(config)
    config = config.model_copy(update={"port": listener.getsockname()[1]})
    server = embedded_server(config) if config.is_embedded else None
    try:
        if server is not None:
            await asyncio.to_thread(server.start)
        await migrate_database(database_url(config))
        _print_welcome(config)
        listener.set_inheritable(True)
        web = Child("web", ("web", "--supervised", "--fd", str(listener.fileno())), (listener.fileno(),))
        async with asyncio.TaskGroup() as group:
            crawler = (Child("crawler", ("crawl", "--supervised")),) if config.discovery else ()
            for child in (web, Child("worker", ("worker", "--supervised")), *crawler, *_scan_node(config)):
                group.create_task(keep_alive(child, stopping, _report))
            if server is not None:
                group.create_task(keep_server_alive(server, stopping, _report))
    finally:
        listener.close()
        if server is not None:
            await asyncio.to_thread(server.stop)
    console.print("Assay has stopped. All data is kept.")


def _scan_node(config: Settings) -> list[Child]:
    """Return one local scan node, if the tools are installed."""
    if not config.deep_scan_tools:
        return []
    if not tools_installed(config):
        # On one line, so that the command can be copied.
        console.print(f"Published skills are not scanned by external tools yet: {HOW_TO_INSTALL}.", soft_wrap=True)
        return []
    # The local address: the public one may not be reachable from this machine.
    here = config.model_copy(update={"public_url": None}).base_url
    return [Child("scan-node", ("scan-node", "--supervised", "--url", here, "--name", "local"))]


def _print_welcome(config: Settings) -> None:
    console.print(f"Assay {__version__} is running at [bold]{config.base_url}[/]")
    console.print(f"Data is stored in {config.data_dir}. Press Ctrl-C to stop.")
    console.print("New here? Run this in another terminal: [bold].venv/bin/assay demo[/]")


def _report(message: str) -> None:
    console.print(f"[yellow]assay up:[/] {message}")


@contextmanager
def _lock_data_dir(config: Settings) -> Iterator[None]:
    """Hold the lock of the data directory: two supervisors would stop each other's database."""
    config.data_dir.mkdir(parents=True, exist_ok=True)
    with (config.data_dir / "up.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"`assay up` is already running in {config.data_dir}: set ASSAY_DATA_DIR to another directory."
            raise Conflict(message) from None
        yield
