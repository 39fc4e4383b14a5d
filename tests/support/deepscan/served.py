"""A registry on a port, for scan nodes."""

from dataclasses import dataclass

import aiohttp

from assay.cage.run import CageLimits
from assay.deepscan.node import Node, NodeOptions
from assay.deepscan.registry_client import RegistryClient
from assay.deepscan.tool import Tool
from assay.model.ids import new_id
from tests.support.registry import SECRET, Registry


@dataclass(frozen=True)
class Served:
    """A registry that is served over HTTP."""

    registry: Registry
    url: str
    session: aiohttp.ClientSession

    def client(self) -> RegistryClient:
        """Return a scan node's client for it."""
        return RegistryClient(self.url, self.session, SECRET, SECRET, self.registry.app.clock)

    def node(self, *tools: Tool, url: str | None = None, batch: int = 50) -> Node:
        """Return a scan node in this process."""
        limits = CageLimits(wall_seconds=60)
        return Node(self.client(), tools, NodeOptions(new_id(), "test", "1", batch=batch, url=url, limits=limits))
