"""The HTTP connection pool for GitHub, one per process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp


@asynccontextmanager
async def open_session() -> AsyncIterator[aiohttp.ClientSession]:
    timeout = aiohttp.ClientTimeout(total=120, connect=10, sock_read=30)
    connector = aiohttp.TCPConnector(limit=64, limit_per_host=64)
    headers = {"User-Agent": "assay-registry", "Accept": "application/vnd.github+json"}
    async with aiohttp.ClientSession(
        timeout=timeout,
        connector=connector,
        headers=headers,
        auto_decompress=True,
        # Cookies set during one person's sign-in must not be sent with another's request.
        cookie_jar=aiohttp.DummyCookieJar(),
    ) as session:
        yield session
