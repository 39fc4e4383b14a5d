"""The web beyond GitHub, read with care: https, public addresses, no secrets in the address, bounded answers."""

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

LARGEST_ANSWER_BYTES = 16 * 1024 * 1024
REDIRECTS = 3
DEFAULT_PAUSE_SECONDS = 60.0
LONGEST_PAUSE_SECONDS = 3_600.0
HTTPS_PORT = 443
# Addresses of IPv6 that carry one of IPv4, which may be a private one.
TRANSLATED = ipaddress.ip_network("64:ff9b::/96")

T = TypeVar("T")


@dataclass(frozen=True)
class Web:
    """A client for one process. `anywhere` lets it go to private addresses and without https."""

    session: aiohttp.ClientSession
    anywhere: bool = False

    async def get_json(self, url: str, kind: type[T]) -> T:
        """What an address answers, read as this type."""
        raw = await self.get_bytes(url, accept="application/json")
        try:
            return msgspec.json.decode(raw, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            raise Unavailable(f"{_shown(url)} does not answer as expected: {problem}", code="bad_answer") from None

    async def get_bytes(self, url: str, *, accept: str = "*/*") -> bytes:
        """What an address answers, whole."""
        try:
            return await self._follow(self._checked(url), accept)
        except aiohttp.InvalidURL:
            raise Invalid(f"{_shown(url)} is no address that can be read.", code="bad_url") from None
        except aiohttp.ClientConnectorError as problem:
            if isinstance(problem.os_error, PrivateAddress):
                raise Invalid(str(problem.os_error), code="private_address") from None
            raise Unavailable(f"{_shown(url)} does not answer: {problem}", code="web_unavailable") from None
        except (aiohttp.ClientError, TimeoutError) as problem:
            said = str(problem) or type(problem).__name__
            raise Unavailable(f"{_shown(url)} does not answer: {said}", code="web_unavailable") from None

    async def _follow(self, url: URL, accept: str) -> bytes:
        """Redirects by hand: each address is checked like the first."""
        for _ in range(REDIRECTS + 1):
            async with self.session.get(url, allow_redirects=False, headers={"Accept": accept}) as response:
                if response.status not in (301, 302, 303, 307, 308):
                    return await _read(response)
                location = response.headers.get("Location", "")
                try:
                    url = self._checked(str(url.join(URL(location))))
                except ValueError:
                    raise Unavailable(f"{_shown(str(url))} redirects to nowhere.", code="web_unavailable") from None
        raise Unavailable(f"{_shown(str(url))} redirects in circles.", code="web_unavailable")

    def _checked(self, text: str) -> URL:
        try:
            url = URL(text)
            host, port = url.host, url.port
        except ValueError:
            host, port, url = None, None, URL()
        if not host or url.scheme not in ("https", "http") or not text.isprintable():
            raise Invalid(f"{_shown(text)} is no address that can be read.", code="bad_url")
        if url.user is not None or url.password is not None:
            raise Invalid(f"The address of {host} must not hold a name or a password.", code="bad_url")
        if self.anywhere:
            return url
        if url.scheme != "https" or port != HTTPS_PORT:
            raise Invalid(f"{_shown(text)}: only https on its own port is read.", code="bad_url")
        if _is_address(host) and not _is_public(host):
            raise Invalid(f"{host} is not a public address.", code="private_address")
        return url


class PrivateAddress(OSError):
    """A name leads to an address that is not public."""


class PublicResolver(AbstractResolver):
    """Names are looked up once, and the connection goes to the very address that was checked."""

    def __init__(self) -> None:
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """All addresses of a name; if one is not public, none is."""
        found = await self._inner.resolve(host, port, family)
        if any(not _is_public(each["host"]) for each in found):
            raise PrivateAddress(f"{host} does not lead to a public address.")
        return found

    async def close(self) -> None:
        """Nothing is kept."""


@asynccontextmanager
async def open_web(*, anywhere: bool) -> AsyncIterator[Web]:
    """Connections that go to public addresses only, unless told otherwise."""
    resolver: Any = None if anywhere else PublicResolver()
    connector = aiohttp.TCPConnector(limit=16, limit_per_host=4, resolver=resolver)
    timeout = aiohttp.ClientTimeout(total=60, connect=10, sock_read=30)
    headers = {"User-Agent": "assay-registry"}
    jar = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, headers=headers, cookie_jar=jar, trust_env=False
    ) as session:
        yield Web(session, anywhere)


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
    where = _shown(str(response.url))
    if response.status in (404, 410):
        raise NotFound(f"{where} is not there.", code="not_there")
    if response.status in (403, 429) and (response.status == 429 or "Retry-After" in response.headers):
        said = response.headers.get("Retry-After", "")
        pause = float(said) if said.isdecimal() else DEFAULT_PAUSE_SECONDS
        raise RateLimited(f"{where} asks to wait.", retry_after_seconds=min(max(1.0, pause), LONGEST_PAUSE_SECONDS))
    if response.status != 200:
        raise Unavailable(f"{where} answered {response.status}.", code="web_unavailable")
    parts, size = [], 0
    async for part in response.content.iter_chunked(65536):
        parts.append(part)
        size += len(part)
        if size > LARGEST_ANSWER_BYTES:
            raise Unavailable(f"{where} sends more than {LARGEST_ANSWER_BYTES} bytes.", code="too_large")
    return b"".join(parts)


def _shown(url: str) -> str:
    """An address without what may be secret in it."""
    return url.partition("?")[0].rpartition("@")[2][:200]
