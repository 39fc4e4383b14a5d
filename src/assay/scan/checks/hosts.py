"""Hosts: whom an address really leads to, whatever is written around the name."""

import re
import unicodedata
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import unquote_to_bytes

# Names that nobody can own (RFC 2606, RFC 6761). `localhost` is not among them: there, somebody may answer.
_PLACEHOLDER = re.compile(r"(?:^|\.)(?:example(?:\.(?:com|net|org))?|test|invalid)$")
_NAME = re.compile(r"(?=.{1,200}$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$")
_NUMBER = re.compile(r"(?:0x[0-9a-f]{1,8}|[0-9]{1,10})$")
_LONE_NAMES = frozenset({"localhost"})
# What ends a sentence, or is the emphasis of Markdown, but no name.
_TRAILING = b".,:;!*_~&'"


def host_of(authority: bytes) -> str | None:
    """The host of what stands between `//` and the next `/`: lower-case, letters beyond ASCII as punycode.

    None if there is no host to reach, as in a placeholder or a template.
    """
    written = authority.rpartition(b"@")[2].rstrip(_TRAILING)
    if written.startswith(b"["):
        return _ipv6(written[1:].partition(b"]")[0])
    name = written.partition(b":")[0].rstrip(_TRAILING)
    if b"%" in name:
        name = unquote_to_bytes(name)
    host = name.decode("ascii").lower() if name.isascii() else _punycode(name)
    if _NUMBER.match(host):
        return _ipv4(int(host, 0 if host.startswith("0x") else 10))
    if "." not in host and host not in _LONE_NAMES:
        return None
    return host if _NAME.match(host) and not _PLACEHOLDER.search(host) else None


def _punycode(name: bytes) -> str:
    """Look-alike letters show themselves."""
    text = unicodedata.normalize("NFKC", name.decode("utf-8", errors="replace")).lower()
    labels = text.replace("。", ".").split(".")
    return ".".join(
        label if label.isascii() else f"xn--{label.encode('punycode').decode('ascii').lower()}" for label in labels
    )


def _ipv4(number: int) -> str | None:
    """An address that is written as one number, which few people recognise. A small one is a port or a mistake."""
    return str(IPv4Address(number)) if 2**24 <= number < 2**32 else None


def _ipv6(written: bytes) -> str | None:
    try:
        return str(IPv6Address(written.decode("ascii", errors="replace")))
    except ValueError:
        return None
