"""Parsed requests."""

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]


@dataclass(slots=True)
class Request:
    """The parts of a request that responses depend on."""

    method: str
    path: str
    parts: list[str]
    """The path split at slashes; the first part names the host."""
    query: str
    client: str
    authorization: bool = False
    token: str | None = None
    if_none_match: bytes = b""
    user_agent: bool = False
    accept: bytes = b""
    body: bytes = b""
    """Read for POST only."""

    def parameters(self) -> dict[str, str]:
        """Return the query parameters; the last of a repeated one counts."""
        return {name: values[-1] for name, values in parse_qs(self.query).items()}

    def query_suffix(self) -> str:
        """Return the query with its question mark, or an empty string."""
        return f"?{self.query}" if self.query else ""


def read_request(scope: Scope) -> Request:
    path: str = scope["path"]
    client = scope["client"][0] if scope["client"] else ""
    query = scope["query_string"].decode("ascii", "replace")
    request = Request(scope["method"], path, path[1:].split("/"), query, client)
    for name, value in scope["headers"]:
        if name == b"authorization":
            request.authorization = True
            request.token = _token(value.decode("latin-1"))
        elif name == b"if-none-match":
            request.if_none_match = value
        elif name == b"accept":
            request.accept = value
        elif name == b"user-agent":
            request.user_agent = bool(value)
    return request


def _token(authorization: str) -> str | None:
    scheme, _, token = authorization.partition(" ")
    # Keep an unknown scheme, so that it is refused and visible in the call log.
    return token.strip() if scheme.lower() in ("bearer", "token") else authorization
