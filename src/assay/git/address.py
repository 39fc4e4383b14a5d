"""Where a git server is: looked up once, checked, and held on to, so that the name cannot lead elsewhere afterwards."""

import asyncio
import ipaddress
import socket
from dataclasses import dataclass

from assay.model.errors import Refused, Unavailable

HTTPS_PORT = 443
LOOK_UP_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Address:
    """A server by name, and the addresses under which it is spoken to."""

    host: str
    port: int
    found: tuple[str, ...]

    @property
    def pin(self) -> str:
        """What keeps git from looking the name up again."""
        shown = ",".join(f"[{address}]" if ":" in address else address for address in self.found)
        return f"{self.host}:{self.port}:{shown}"


async def find_address(server: str) -> Address:
    """Look a server up. Refused if it is, or might be, inside our own network; one with a port is this machine."""
    host, _, port = server.partition(":")
    try:
        async with asyncio.timeout(LOOK_UP_SECONDS):
            looked_up = await asyncio.get_running_loop().getaddrinfo(
                host, int(port) if port else HTTPS_PORT, type=socket.SOCK_STREAM
            )
    except (OSError, UnicodeError, TimeoutError):
        raise Unavailable(f"{host} is not found in the DNS.", code="git_unavailable") from None
    found = tuple(dict.fromkeys(str(each[4][0]) for each in looked_up))
    if inside := [address for address in found if _is_inside(address)]:
        # Only an operator can name a server with a port, and only one on this machine.
        if not port or not all(ipaddress.ip_address(address).is_loopback for address in found):
            raise Refused(f"{host} leads to {inside[0]}, which is not on the public internet.", code="private_address")
    elif port:
        raise Refused(f"{host} has a port, but is not this machine.", code="private_address")
    return Address(host, int(port) if port else HTTPS_PORT, found)


def _is_inside(address: str) -> bool:
    """Loopback, private, link-local, multicast, reserved, or such a one dressed as IPv6."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        # An IPv4 address may be inside of it: mapped, 6to4, Teredo, or behind the prefix of a translator (NAT64).
        hidden = [parsed.ipv4_mapped, parsed.sixtofour, *(parsed.teredo or ())]
        if parsed in ipaddress.ip_network("64:ff9b::/96"):
            hidden.append(ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF))
        if any(each is not None and not each.is_global for each in hidden):
            return True
    return not parsed.is_global or parsed.is_multicast
