"""A scan node's HTTP client for the registry, with retries and bounded responses."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

import aiohttp
import msgspec

from assay.blobs.blobs import unpack
from assay.deepscan.messages import ClaimMessage, NodeMessage, ReleaseMessage, ScanBatch, ScanResult
from assay.deepscan.signature import sign
from assay.model.clock import Clock
from assay.model.deep_scan import DeepTool
from assay.model.errors import Conflict, Forbidden, NotFound, Unavailable
from assay.model.source import Source

KEY_HEADER = "X-Internal-Key"
TIMEOUT = aiohttp.ClientTimeout(total=120, sock_connect=10)
LARGEST_RESPONSE, LARGEST_CONTENT = 4 * 1024 * 1024, 128 * 1024 * 1024
MAX_ATTEMPTS, PAUSE_SECONDS = 5, 2.0
ALREADY_DELIVERED = "delivery_replayed"
T = TypeVar("T")


class Registration(msgspec.Struct, frozen=True, rename="camel"):
    """The response to a registration."""

    lease_seconds: int
    tools: list[str]


class ErrorBody(msgspec.Struct, frozen=True):
    """The body of an error response."""

    code: str = "unknown"
    detail: str = ""


@dataclass(frozen=True)
class RegistryClient:
    """A registry, and the two secrets that authenticate its nodes."""

    base_url: str
    session: aiohttp.ClientSession
    internal_key: str
    webhook_secret: str
    clock: Clock

    async def register(self, message: NodeMessage) -> Registration:
        return await self._post("/api/v1/internal/scan-nodes", message, Registration)

    async def deregister(self, node_id: UUID) -> None:
        """Deregister the node, without retries: the registry would notice its silence."""
        await self._request("DELETE", f"/api/v1/internal/scan-nodes/{node_id}", LARGEST_RESPONSE)

    async def claim(self, node_id: UUID, tool: DeepTool, limit: int) -> ScanBatch:
        body = ClaimMessage(node_id=node_id, tool=tool, limit=limit)
        return await self._post("/api/v1/internal/claim-sast-scan", body, ScanBatch)

    async def release(self, node_id: UUID, lease: UUID) -> None:
        """Return the unfinished scans of a lease."""
        body = ReleaseMessage(node_id=node_id, lease=lease)
        await self._post("/api/v1/internal/release-sast-scan", body, dict[str, Any])

    async def content(self, digest: str) -> Source:
        """Return the files of the content, verified against the digest."""
        return unpack(
            await self._request_with_retries("GET", f"/api/v1/internal/contents/{digest}", LARGEST_CONTENT), digest
        )

    async def deliver(self, result: ScanResult) -> bool:
        """Deliver a result; return False if the registry does not accept it, for example because its lease was lost."""
        body = msgspec.json.encode(result)
        for attempt in range(MAX_ATTEMPTS):
            headers = sign(self.webhook_secret, body, self.clock.now()) | {"Content-Type": "application/json"}
            try:
                await self._request(
                    "POST", "/api/v1/webhooks/scan-results", LARGEST_RESPONSE, data=body, headers=headers
                )
            except Conflict as error:
                # The response to an earlier attempt may have been lost.
                return attempt > 0 and error.code == ALREADY_DELIVERED
            except Unavailable:
                if attempt == MAX_ATTEMPTS - 1:
                    raise
                await asyncio.sleep(PAUSE_SECONDS * (attempt + 1))
            else:
                return True
        return False

    async def _post(self, path: str, body: msgspec.Struct, kind: type[T]) -> T:
        headers = {"Content-Type": "application/json"}
        response = await self._request_with_retries(
            "POST", path, LARGEST_RESPONSE, data=msgspec.json.encode(body), headers=headers
        )
        try:
            return msgspec.json.decode(response, type=kind)
        except msgspec.DecodeError as error:
            raise Unavailable(f"{self.base_url} does not respond like an Assay registry: {error}") from None

    async def _request_with_retries(self, method: str, path: str, at_most: int, **options: Any) -> bytes:
        for attempt in range(MAX_ATTEMPTS):
            try:
                return await self._request(method, path, at_most, **options)
            except Unavailable:
                if attempt == MAX_ATTEMPTS - 1:
                    raise
                await asyncio.sleep(PAUSE_SECONDS * (attempt + 1))
        raise AssertionError

    async def _request(
        self, method: str, path: str, at_most: int, *, headers: Mapping[str, str] | None = None, **options: Any
    ) -> bytes:
        all_headers = {KEY_HEADER: self.internal_key, **(headers or {})}
        try:
            # No redirects: the key must not be sent to another address.
            async with self.session.request(
                method, self.base_url + path, headers=all_headers, timeout=TIMEOUT, allow_redirects=False, **options
            ) as response:
                body = await _read(response, at_most)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Unavailable(f"{self.base_url} does not answer: {type(error).__name__}") from None
        if response.status < 300:
            return body
        raise _error_for(response.status, body)


async def _read(response: aiohttp.ClientResponse, at_most: int) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_chunked(65536):
        body += chunk
        if len(body) > at_most:
            raise Unavailable(f"The registry sent a response of more than {at_most:,} bytes.")
    return bytes(body)


def _error_for(status: int, body: bytes) -> Conflict | Forbidden | NotFound | Unavailable:
    try:
        error = msgspec.json.decode(body, type=ErrorBody)
    except msgspec.DecodeError:
        error = ErrorBody()
    message = f"The registry answered with status {status}: {error.detail or error.code}"
    match status:
        case 401 | 403:
            return Forbidden(message, code=error.code)
        case 404 | 410:
            return NotFound(message, code=error.code)
        case 429 | 500 | 502 | 503 | 504:
            return Unavailable(message, code=error.code)
        case _:
            return Conflict(message, code=error.code)
