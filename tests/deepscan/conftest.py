"""A registry that answers at an address, for nodes that are programs of their own."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import aiohttp
import pytest

from assay.cage.run import Limits
from assay.deepscan.node import Node, NodeOptions
from assay.deepscan.registry import RegistryClient
from assay.deepscan.tool import Tool
from assay.model.ids import new_id
from tests.support.registry import SECRET, Registry
from tests.support.streams import serving


@dataclass(frozen=True)
class Served:
    """A registry at an address."""

    registry: Registry
    url: str
    session: aiohttp.ClientSession

    def client(self) -> RegistryClient:
        """As a node asks it."""
        return RegistryClient(self.url, self.session, SECRET, SECRET, self.registry.app.clock)

    def node(self, *tools: Tool, url: str | None = None, batch: int = 50) -> Node:
        """A node in this process."""
        limits = Limits(wall_seconds=60)
        return Node(self.client(), tools, NodeOptions(new_id(), "test", "1", batch=batch, url=url, limits=limits))


@pytest.fixture
async def served(registry: Registry) -> AsyncIterator[Served]:
    """The registry of the test, on loopback."""
    async with serving(registry.app) as url, aiohttp.ClientSession() as session:
        yield Served(registry, url, session)
