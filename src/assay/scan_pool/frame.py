"""What goes over the pipe between a worker and a scan process: a length, and so many bytes of MessagePack.

Not pickle: a process that read a hostile skill must not be able to make its worker run anything.
"""

from typing import TypeVar

import msgspec

from assay.scan.rule import Rule
from assay.scan.ruleset import Traced

HEAD_BYTES = 4
# Far more than a report or a skill can have; a length beyond it is no frame.
LARGEST_BYTES = 64 * 1024 * 1024
T = TypeVar("T")
_encoder = msgspec.msgpack.Encoder()


class Rules(msgspec.Struct, frozen=True, array_like=True):
    """To a scan process that was started for others than the rules that ship, once: look with these."""

    rules: tuple[Rule, ...]
    traced: Traced


class Skill(msgspec.Struct, frozen=True, array_like=True):
    """To the scan process: look at these files."""

    files: dict[str, bytes]


class Ready(msgspec.Struct, frozen=True, array_like=True):
    """From the scan process, once: with what it looks."""

    engine: str
    ruleset: str


class BadFrame(Exception):
    """The other side does not speak as it should."""


def encode_frame(message: object) -> bytes:
    """The message with its length before it."""
    body = _encoder.encode(message)
    return len(body).to_bytes(HEAD_BYTES, "big") + body


def body_size(head: bytes) -> int:
    """How many bytes follow a head."""
    size = int.from_bytes(head, "big")
    if size > LARGEST_BYTES:
        raise BadFrame(f"a frame of {size} bytes")
    return size


def decode_body(body: bytes, kind: type[T]) -> T:
    """The message of a frame. Raises `BadFrame` if it is not of that kind."""
    try:
        return msgspec.msgpack.decode(body, type=kind)
    except msgspec.DecodeError as problem:
        raise BadFrame(str(problem)) from problem
