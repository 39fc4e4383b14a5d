"""HTTP client for servers other than GitHub: https, public addresses, no credentials in URLs, bounded responses."""

import ipaddress
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from assay.model.errors import Invalid, NotFound, RateLimited, Unavailable

LARGEST_RESPONSE_BYTES = 16 * 1024 * 1024
REDIRECTS = 3
DEFAULT_PAUSE_SECONDS = 60.0
LONGEST_PAUSE_SECONDS = 3_600.0
HTTPS_PORT = 443
# IPv6 prefix of addresses that embed an IPv4 address, which may be private (NAT64).
TRANSLATED = ipaddress.ip_network("64:ff9b::/96")

T = TypeVar("T")


@dataclass(frozen=True)
class Web:
    """The client of one process. `allow_private` permits private addresses and plain HTTP."""

    session: aiohttp.ClientSession
    allow_private: bool = False

    async def get_json(self, url: str, kind: type[T]) -> T:
        """Request a URL and decode its JSON."""
        raw = await self.get_bytes(url, accept="application/json")
        try:
            return msgspec.json.decode(raw, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Unavailable(f"{_printable(url)} sent an unexpected response: {error}", code="bad_answer") from None

    async def get_bytes(self, url: str, *, accept: str = "*/*") -> bytes:
        try:
            return await self._follow(self._checked(url), accept)
        except aiohttp.InvalidURL:
            raise Invalid(f"{_printable(url)} is not a valid URL.", code="bad_url") from None
        except aiohttp.ClientConnectorError as error:
            if isinstance(error.os_error, PrivateAddress):
                raise Invalid(str(error.os_error), code="private_address") from None
            raise Unavailable(f"{_printable(url)} does not answer: {error}", code="web_unavailable") from None
        except (aiohttp.ClientError, TimeoutError) as error:
            reason = str(error) or type(error).__name__
            raise Unavailable(f"{_printable(url)} does not answer: {reason}", code="web_unavailable") from None

    async def _follow(self, url: URL, accept: str) -> bytes:
        """Follow redirects; each URL is checked like the first."""
        for _ in range(REDIRECTS + 1):
            async with self.session.get(url, allow_redirects=False, headers={"Accept": accept}) as response:
                if response.status not in (301, 302, 303, 307, 308):
                    return await _read(response)
                location = response.headers.get("Location", "")
                try:
                    url = self._checked(str(url.join(URL(location))))
                except ValueError:
                    raise Unavailable(
                        f"{_printable(str(url))} redirects to an invalid URL.", code="web_unavailable"
                    ) from None
        raise Unavailable(f"{_printable(str(url))} redirects too many times.", code="web_unavailable")

    def _checked(self, text: str) -> URL:
        try:
            url = URL(text)
            host, port = url.host, url.port
        except ValueError:
            host, port, url = None, None, URL()
        if not host or url.scheme not in ("https", "http") or not text.isprintable():
            raise Invalid(f"{_printable(text)} is not a valid URL.", code="bad_url")
        if url.user is not None or url.password is not None:
            raise Invalid(f"The URL of {host} must not contain a user name or password.", code="bad_url")
        if self.allow_private:
            return url
        if url.scheme != "https" or port != HTTPS_PORT:
            raise Invalid(f"{_printable(text)}: only https on port 443 is supported.", code="bad_url")
        if _is_address(host) and not _is_public(host):
            raise Invalid(f"{host} is not a public IP address.", code="private_address")
        return url


class PrivateAddress(OSError):
    """A host name resolves to an address that is not public."""


class PublicResolver(AbstractResolver):
    """A resolver that checks addresses; the connection uses exactly the addresses that were checked."""

    def __init__(self) -> None:
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return all addresses of a name; raise PrivateAddress if any is not public."""
        found = await self._inner.resolve(host, port, family)
        if any(not _is_public(each["host"]) for each in found):
            raise PrivateAddress(f"{host} resolves to an address that is not public.")
        return found

    async def close(self) -> None:
        pass


@asynccontextmanager
async def open_web(*, allow_private: bool) -> AsyncIterator[Web]:
    """Open a client that connects to public addresses only, unless `allow_private` is set."""
    resolver: Any = None if allow_private else PublicResolver()
    connector = aiohttp.TCPConnector(limit=16, limit_per_host=4, resolver=resolver)
    timeout = aiohttp.ClientTimeout(total=60, connect=10, sock_read=30)
    headers = {"User-Agent": "assay-registry"}
    jar = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, headers=headers, cookie_jar=jar, trust_env=False
    ) as session:
        yield Web(session, allow_private)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _is_public(host: str) -> bool:
    address = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is not None:
            return inner.is_global
        if address in TRANSLATED:
            return False
    return address.is_global and not address.is_multicast


async def _read(response: aiohttp.ClientResponse) -> bytes:
    where = _printable(str(response.url))
    if response.status in (404, 410):
        raise NotFound(f"{where} was not found.", code="not_there")
    if response.status in (403, 429) and (response.status == 429 or "Retry-After" in response.headers):
        retry_after = response.headers.get("Retry-After", "")
        pause = float(retry_after) if retry_after.isdecimal() else DEFAULT_PAUSE_SECONDS
        raise RateLimited(
            f"{where} asks for fewer requests.", retry_after_seconds=min(max(1.0, pause), LONGEST_PAUSE_SECONDS)
        )
    if response.status != 200:
        raise Unavailable(f"{where} answered with status {response.status}.", code="web_unavailable")
    parts, size = [], 0
    async for part in response.content.iter_chunked(65536):
        parts.append(part)
        size += len(part)
        if size > LARGEST_RESPONSE_BYTES:
            raise Unavailable(f"{where} sent more than {LARGEST_RESPONSE_BYTES} bytes.", code="too_large")
    return b"".join(parts)


def _printable(url: str) -> str:
    """Strip the query and credentials of a URL, which may be secret, and truncate it."""
    return url.partition("?")[0].rpartition("@")[2][:200]
