"""Server-Sent Events, as far as a registry sends them."""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import aiohttp

from assay.cli.registry.client import Registry
from assay.cli.registry.errors import Json

STREAM = "/api/v1/submissions/stream"
# A registry says something every 20 seconds; one that is silent for longer is gone.
TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=60)


@dataclass(frozen=True)
class Event:
    """One event. One without a name says that the stream is open, or still is."""

    name: str
    data: Json


async def read_events(registry: Registry) -> AsyncGenerator[Event]:
    """What happens to all submissions from now on, until the registry hangs up."""
    async with registry.opened("GET", STREAM, timeout=TIMEOUT) as answer:
        name, data = "", ""
        async for raw in answer.content:
            field, _, value = raw.decode(errors="replace").rstrip("\r\n").partition(":")
            match field:
                case "event":
                    name = value.strip()
                case "data":
                    data += value
                case "" if not value:
                    yield Event(name, json.loads(data or "{}"))
                    name, data = "", ""
