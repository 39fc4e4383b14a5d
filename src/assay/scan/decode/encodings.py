"""Undoing the encodings in which a payload is carried, when all of it stands in the code."""

import base64
import binascii
import codecs
import zlib

_LIMIT = 65_536


def decode_base64(text: str) -> str:
    """The text behind base64, or nothing if it is none."""
    return as_text(bytes_of_base64(text.encode("utf-8", "replace")))


def bytes_of_base64(data: bytes) -> bytes:
    """The bytes behind base64, or none; missing padding is forgiven as decoders do."""
    data = b"".join(data.split())[: _LIMIT * 2].translate(bytes.maketrans(b"-_", b"+/"))
    try:
        return base64.b64decode(data + b"=" * (-len(data) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


def decode_hex(text: str) -> str:
    """The text behind hexadecimal digits, or nothing."""
    return as_text(bytes_of_hex(text))


def bytes_of_hex(text: str) -> bytes:
    """The bytes behind hexadecimal digits, or none."""
    try:
        return bytes.fromhex(text[: _LIMIT * 2])
    except ValueError:
        return b""


def decode_rot13(text: str) -> str:
    """Each letter thirteen places on."""
    return codecs.encode(text[:_LIMIT], "rot13")


def inflate(data: bytes) -> bytes:
    """The decompressed bytes, no more than the limit, or none."""
    for window in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):
        try:
            return zlib.decompressobj(window).decompress(data, _LIMIT)
        except zlib.error:
            continue
    return b""


def as_text(data: bytes) -> str:
    """Bytes as text, or nothing if they are not text."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() or not any(ord(char) < 9 for char in text) else ""
