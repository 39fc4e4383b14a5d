"""`assay up`: PostgreSQL, web and worker in one supervised command."""

import asyncio
import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from assay import __version__, settings
from assay.app.database import database_url, embedded_server
from assay.app.rules import rules_of
from assay.cli.migrate import migrate_database
from assay.cli.process.listen import listen
from assay.cli.process.stopping import run_until_done, stopping_event
from assay.cli.process.supervisor import Child, keep_alive, keep_server_alive
from assay.cli.scan_node import HOW_TO_INSTALL, are_tools_there
from assay.model.errors import Conflict
from assay.settings import Settings

console = Console(stderr=True, highlight=False)


def up() -> None:
    """Start everything on this machine and keep it running until Ctrl-C."""
    chosen = settings.with_secrets(settings.read())
    # Each process reads them for itself; told here, it is told once, and before anything is started.
    rules_of(chosen)
    with _alone_in(chosen):
        run_until_done(_up(chosen))


async def _up(chosen: Settings) -> None:
    stopping = stopping_event(supervised=False)
    listener = listen(chosen)
    chosen = chosen.model_copy(update={"port": listener.getsockname()[1]})
    server = embedded_server(chosen) if chosen.is_embedded else None
    try:
        if server is not None:
            await asyncio.to_thread(server.start)
        await migrate_database(database_url(chosen))
        _greet(chosen)
        listener.set_inheritable(True)
        web = Child("web", ("web", "--supervised", "--fd", str(listener.fileno())), (listener.fileno(),))
        async with asyncio.TaskGroup() as group:
            crawler = (Child("crawler", ("crawl", "--supervised")),) if chosen.discovery else ()
            for child in (web, Child("worker", ("worker", "--supervised")), *crawler, *_scan_node(chosen)):
                group.create_task(keep_alive(child, stopping, _report))
            if server is not None:
                group.create_task(keep_server_alive(server, stopping, _report))
    finally:
        listener.close()
        if server is not None:
            await asyncio.to_thread(server.stop)
    console.print("Assay has stopped; everything is kept.")


def _scan_node(chosen: Settings) -> list[Child]:
    """One node on this machine, if its tools are there."""
    if not chosen.deep_scan_tools:
        return []
    if not are_tools_there(chosen):
        # In one line, so that the command can be copied.
        console.print(f"What is published is not scanned by external tools yet: {HOW_TO_INSTALL}.", soft_wrap=True)
        return []
    # Past any proxy: the public address may not lead here from inside.
    here = chosen.model_copy(update={"public_url": None}).base_url
    return [Child("scan-node", ("scan-node", "--supervised", "--url", here, "--name", "local"))]


def _greet(chosen: Settings) -> None:
    console.print(f"Assay {__version__} is up: [bold]{chosen.base_url}[/]")
    console.print(f"Data is kept in {chosen.data_dir}. Ctrl-C stops.")
    console.print("New here? In another terminal: [bold].venv/bin/assay demo[/]")


def _report(message: str) -> None:
    console.print(f"[yellow]assay up:[/] {message}")


@contextmanager
def _alone_in(chosen: Settings) -> Iterator[None]:
    """Two supervisors of one data directory would stop each other's database."""
    chosen.data_dir.mkdir(parents=True, exist_ok=True)
    with (chosen.data_dir / "up.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(f"`assay up` already runs in {chosen.data_dir}: set ASSAY_DATA_DIR to another.") from None
        yield
