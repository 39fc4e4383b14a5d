"""Decoders for payloads that are complete in the code. Each returns an empty value if the input is invalid."""

import base64
import binascii
import codecs
import zlib

_LIMIT = 65_536


def decode_base64(text: str) -> str:
    return as_text(bytes_of_base64(text.encode("utf-8", "replace")))


def bytes_of_base64(data: bytes) -> bytes:
    """Decode base64; like most decoders, accept missing padding."""
    data = b"".join(data.split())[: _LIMIT * 2].translate(bytes.maketrans(b"-_", b"+/"))
    try:
        return base64.b64decode(data + b"=" * (-len(data) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


def decode_hex(text: str) -> str:
    return as_text(bytes_of_hex(text))


def bytes_of_hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text[: _LIMIT * 2])
    except ValueError:
        return b""


def decode_rot13(text: str) -> str:
    return codecs.encode(text[:_LIMIT], "rot13")


def inflate(data: bytes) -> bytes:
    """Decompress zlib, gzip or raw deflate data, up to the limit."""
    for window in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):
        try:
            return zlib.decompressobj(window).decompress(data, _LIMIT)
        except zlib.error:
            continue
    return b""


def as_text(data: bytes) -> str:
    """Decode UTF-8; returns an empty string for binary data."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() or not any(ord(char) < 9 for char in text) else ""
