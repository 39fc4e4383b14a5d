"""The registry, as a scan node sees it: over HTTP, with the internal key, bounded and asked again."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

import aiohttp
import msgspec

from assay.blobs.blobs import unpack
from assay.deepscan.messages import ClaimMessage, NodeMessage, ReleaseMessage, ScanResult, Work
from assay.deepscan.signature import sign
from assay.model.clock import Clock
from assay.model.deep_scan import DeepTool
from assay.model.errors import Conflict, Forbidden, NotFound, Unavailable
from assay.model.source import Source

KEY_HEADER = "X-Internal-Key"
TIMEOUT = aiohttp.ClientTimeout(total=120, sock_connect=10)
LARGEST_ANSWER, LARGEST_CONTENT = 4 * 1024 * 1024, 128 * 1024 * 1024
TRIES, PAUSE_SECONDS = 5, 2.0
DELIVERED_BEFORE = "delivery_replayed"
T = TypeVar("T")


class Registered(msgspec.Struct, frozen=True, rename="camel"):
    """What a node learns when it says that it is there."""

    lease_seconds: int
    tools: list[str]


class Refusal(msgspec.Struct, frozen=True):
    """A problem body."""

    code: str = "unknown"
    detail: str = ""


@dataclass(frozen=True)
class RegistryClient:
    """A registry at an address, and the two secrets that it knows its nodes by."""

    base_url: str
    session: aiohttp.ClientSession
    internal_key: str
    webhook_secret: str
    clock: Clock

    async def register(self, said: NodeMessage) -> Registered:
        """Say that this node is there."""
        return await self._post("/api/v1/internal/scan-nodes", said, Registered)

    async def leave(self, node_id: UUID) -> None:
        """Say goodbye; who cannot hear it will notice."""
        await self._ask("DELETE", f"/api/v1/internal/scan-nodes/{node_id}", LARGEST_ANSWER)

    async def claim(self, node_id: UUID, tool: DeepTool, limit: int) -> Work:
        """Take scans of one tool."""
        wanted = ClaimMessage(node_id=node_id, tool=tool, limit=limit)
        return await self._post("/api/v1/internal/claim-sast-scan", wanted, Work)

    async def release(self, node_id: UUID, lease: UUID) -> None:
        """Give back what was not begun."""
        body = ReleaseMessage(node_id=node_id, lease=lease)
        await self._post("/api/v1/internal/release-sast-scan", body, dict[str, Any])

    async def content(self, digest: str) -> Source:
        """The files of a content, each checked against the digest."""
        return unpack(await self._patiently("GET", f"/api/v1/internal/contents/{digest}", LARGEST_CONTENT), digest)

    async def deliver(self, result: ScanResult) -> bool:
        """Hand in a result; False if the registry does not want it (any more)."""
        body = msgspec.json.encode(result)
        for attempt in range(TRIES):
            headers = sign(self.webhook_secret, body, self.clock.now()) | {"Content-Type": "application/json"}
            try:
                await self._ask("POST", "/api/v1/webhooks/scan-results", LARGEST_ANSWER, data=body, headers=headers)
            except Conflict as problem:
                # The answer to an earlier attempt was lost on its way.
                return attempt > 0 and problem.code == DELIVERED_BEFORE
            except Unavailable:
                if attempt == TRIES - 1:
                    raise
                await asyncio.sleep(PAUSE_SECONDS * (attempt + 1))
            else:
                return True
        return False

    async def _post(self, path: str, body: msgspec.Struct, answer: type[T]) -> T:
        headers = {"Content-Type": "application/json"}
        said = await self._patiently("POST", path, LARGEST_ANSWER, data=msgspec.json.encode(body), headers=headers)
        try:
            return msgspec.json.decode(said, type=answer)
        except msgspec.DecodeError as problem:
            raise Unavailable(f"{self.base_url} does not answer as an Assay does: {problem}") from None

    async def _patiently(self, method: str, path: str, at_most: int, **given: Any) -> bytes:
        for attempt in range(TRIES):
            try:
                return await self._ask(method, path, at_most, **given)
            except Unavailable:
                if attempt == TRIES - 1:
                    raise
                await asyncio.sleep(PAUSE_SECONDS * (attempt + 1))
        raise AssertionError

    async def _ask(
        self, method: str, path: str, at_most: int, *, headers: Mapping[str, str] | None = None, **given: Any
    ) -> bytes:
        known = {KEY_HEADER: self.internal_key, **(headers or {})}
        try:
            # Never redirected: the key is for this address only.
            async with self.session.request(
                method, self.base_url + path, headers=known, timeout=TIMEOUT, allow_redirects=False, **given
            ) as answer:
                body = await _read(answer, at_most)
        except (aiohttp.ClientError, TimeoutError) as problem:
            raise Unavailable(f"{self.base_url} does not answer: {type(problem).__name__}") from None
        if answer.status < 300:
            return body
        raise _refusal(answer.status, body)


async def _read(answer: aiohttp.ClientResponse, at_most: int) -> bytes:
    body = bytearray()
    async for chunk in answer.content.iter_chunked(65536):
        body += chunk
        if len(body) > at_most:
            raise Unavailable(f"An answer of the registry has more than {at_most:,} bytes.")
    return bytes(body)


def _refusal(status: int, body: bytes) -> Conflict | Forbidden | NotFound | Unavailable:
    try:
        said = msgspec.json.decode(body, type=Refusal)
    except msgspec.DecodeError:
        said = Refusal()
    words = f"The registry answers {status}: {said.detail or said.code}"
    match status:
        case 401 | 403:
            return Forbidden(words, code=said.code)
        case 404 | 410:
            return NotFound(words, code=said.code)
        case 429 | 500 | 502 | 503 | 504:
            return Unavailable(words, code=said.code)
        case _:
            return Conflict(words, code=said.code)
