"""Messages between a worker and a scan process: a length, followed by MessagePack.

Not pickle: a process that reads hostile skills must not be able to execute code in its worker.
"""

from typing import TypeVar

import msgspec

from assay.scan.rule import Rule
from assay.scan.ruleset import Traced

HEAD_BYTES = 4
# The maximum size of a frame, far above that of any report or skill.
LARGEST_BYTES = 64 * 1024 * 1024
T = TypeVar("T")
_encoder = msgspec.msgpack.Encoder()


class CustomRules(msgspec.Struct, frozen=True, array_like=True):
    """Sent to a scan process once, at its start, if it is to use other rules than the bundled ones."""

    rules: tuple[Rule, ...]
    traced: Traced


class ScanRequest(msgspec.Struct, frozen=True, array_like=True):
    """Sent to a scan process: scan these files."""

    files: dict[str, bytes]


class Ready(msgspec.Struct, frozen=True, array_like=True):
    """Sent by a scan process once, when it is ready: its engine and ruleset."""

    engine: str
    ruleset: str


class BadFrame(Exception):
    """The other side sent something that is not a valid message."""


def encode_frame(message: object) -> bytes:
    """Return the message, preceded by its length."""
    body = _encoder.encode(message)
    return len(body).to_bytes(HEAD_BYTES, "big") + body


def body_size(head: bytes) -> int:
    """Return the size of the body that follows this head. Raises `BadFrame` if it exceeds the limit."""
    size = int.from_bytes(head, "big")
    if size > LARGEST_BYTES:
        raise BadFrame(f"the frame has {size} bytes")
    return size


def decode_body(body: bytes, kind: type[T]) -> T:
    """Decode the body of a frame. Raises `BadFrame` if it is not of this type."""
    try:
        return msgspec.msgpack.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise BadFrame(str(error)) from error
