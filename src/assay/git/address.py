"""Addresses of git servers: resolved once, checked, and pinned, so that the name cannot lead elsewhere afterwards."""

import asyncio
import ipaddress
import socket
from dataclasses import dataclass

from assay.model.errors import Refused, Unavailable

HTTPS_PORT = 443
RESOLVE_SECONDS = 10


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A server name and the IP addresses to connect to."""

    host: str
    port: int
    addresses: tuple[str, ...]

    @property
    def pin(self) -> str:
        """Value of git's `http.curloptResolve`, which keeps it from resolving the name again."""
        listed = ",".join(f"[{address}]" if ":" in address else address for address in self.addresses)
        return f"{self.host}:{self.port}:{listed}"


async def resolve_server(server: str) -> ServerAddress:
    """Resolve a server. Raises Refused if any address is not public; a server with a port must be on this machine."""
    host, _, port = server.partition(":")
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            resolved = await asyncio.get_running_loop().getaddrinfo(
                host, int(port) if port else HTTPS_PORT, type=socket.SOCK_STREAM
            )
    except (OSError, UnicodeError, TimeoutError):
        raise Unavailable(f"{host} was not found in the DNS.", code="git_unavailable") from None
    addresses = tuple(dict.fromkeys(str(each[4][0]) for each in resolved))
    if internal := [address for address in addresses if _is_internal(address)]:
        # Only an operator can configure a server with a port, and only one on this machine.
        if not port or not all(ipaddress.ip_address(address).is_loopback for address in addresses):
            raise Refused(
                f"{host} resolves to {internal[0]}, which is not on the public internet.", code="private_address"
            )
    elif port:
        raise Refused(f"{host} has a port, but is not on this machine.", code="private_address")
    return ServerAddress(host, int(port) if port else HTTPS_PORT, addresses)


def _is_internal(address: str) -> bool:
    """Return whether an address is loopback, private, link-local, multicast or reserved, or embeds such an IPv4 one."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        # It may embed an IPv4 address: mapped, 6to4, Teredo, or the prefix of a translator (NAT64).
        embedded = [parsed.ipv4_mapped, parsed.sixtofour, *(parsed.teredo or ())]
        if parsed in ipaddress.ip_network("64:ff9b::/96"):
            embedded.append(ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF))
        if any(each is not None and not each.is_global for each in embedded):
            return True
    return not parsed.is_global or parsed.is_multicast
