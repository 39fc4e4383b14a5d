"""A scan node that is killed while it works: `python -m tests.support.deepscan.hanging_node URL KEY`."""

import asyncio
import sys

import aiohttp

from assay.deepscan.node import Node, NodeOptions
from assay.deepscan.registry_client import RegistryClient
from assay.model.clock import Clock
from assay.model.ids import new_id
from tests.support.deepscan.scripted import a_tool


async def main(url: str, key: str) -> None:
    """Work until killed."""
    async with aiohttp.ClientSession() as session:
        registry = RegistryClient(url, session, key, key, Clock())
        node = Node(registry, [a_tool()], NodeOptions(new_id(), "hanging", "1", poll_seconds=0.2))
        await node.run(asyncio.Event())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
