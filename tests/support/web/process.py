"""A web process under test."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.support.processes import a_free_port, a_process
from tests.support.registry import Registry
from tests.support.warm import Command


@dataclass
class Web:
    """A web process."""

    process: Command
    url: str
    log: Path

    async def is_ready(self) -> bool:
        """Return whether it responds."""
        async with httpx.AsyncClient(base_url=self.url) as client:
            try:
                return (await client.get("/readyz")).status_code == 200
            except httpx.TransportError:
                return False


@contextmanager
def a_web(registry: Registry, folder: Path, port: int | None = None) -> Iterator[Web]:
    """Run `assay web`, on a free port unless given."""
    port = port or a_free_port()
    settings = registry.app.settings.model_copy(update={"port": port})
    log = folder / f"web-{port}.log"
    with a_process("web", settings, log) as process:
        yield Web(process, f"http://127.0.0.1:{port}", log)
