"""A registry on a port, for scan nodes in other processes."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.support.deepscan.served import Served
from tests.support.registry import Registry
from tests.support.streams import serving


@pytest.fixture
async def served(registry: Registry) -> AsyncIterator[Served]:
    """Serve the test's registry on loopback."""
    async with serving(registry.app) as url, aiohttp.ClientSession() as session:
        yield Served(registry, url, session)
