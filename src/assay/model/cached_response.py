"""An answer of a host that may be asked for again under a condition."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """By whom (a key that says nothing about a token) and where it was asked for; only what is read of it is kept."""

    key: str
    url: str
    etag: str
    body: bytes
