"""A plain HTTP client for tests of the fake GitHub."""

import json
from dataclasses import dataclass
from typing import Any

import aiohttp

SKILL = b"---\nname: pdf\ndescription: Reads PDF files.\n---\n"


@dataclass
class Reply:
    """A complete response."""

    status: int
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def remaining(self) -> int:
        return int(self.headers["X-RateLimit-Remaining"])


class PlainClient:
    """A client that follows no redirects and retries nothing."""

    def __init__(self, base_url: str, session: aiohttp.ClientSession) -> None:
        self.base_url = base_url
        self._session = session

    async def get(self, path: str, token: str | None = None, **headers: str) -> Reply:
        if token:
            headers["Authorization"] = f"Bearer {token}"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self._session.get(self.base_url + path, headers=named, allow_redirects=False) as response:
            return Reply(response.status, response.headers, await response.read())
