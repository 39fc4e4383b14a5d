"""Archives of a version: identical bytes for identical files on every machine.

Names are sorted, times and modes fixed, and nothing is compressed: the output of a compressor changes between its
releases, and skills are small.
"""

import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from enum import StrEnum

ZIP_TIME = (1980, 1, 1, 0, 0, 0)
MODE = 0o644
# The largest uncompressed deflate block.
STORED_BLOCK = 65_535
GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
TAR_END = bytes(2 * tarfile.BLOCKSIZE)


class ArchiveFormat(StrEnum):
    ZIP = "zip"
    TAR_GZ = "tar.gz"


def pack(files: Mapping[str, bytes], folder: str, kind: ArchiveFormat) -> Iterator[bytes]:
    """Yield the archive in chunks, with all files under one folder."""
    named = [(f"{folder}/{path}", files[path]) for path in sorted(files)]
    return _gzip(_tar(named)) if kind is ArchiveFormat.TAR_GZ else _zip(named)


def _tar(files: list[tuple[str, bytes]]) -> Iterator[bytes]:
    for path, content in files:
        member = tarfile.TarInfo(path)
        member.size, member.mode = len(content), MODE
        yield member.tobuf(format=tarfile.PAX_FORMAT)
        yield content
        yield bytes(-len(content) % tarfile.BLOCKSIZE)
    yield TAR_END


def _gzip(parts: Iterator[bytes]) -> Iterator[bytes]:
    yield GZIP_HEADER
    checksum, size, rest = 0, 0, b""
    for part in parts:
        checksum, size = zlib.crc32(part, checksum), size + len(part)
        rest += part
        while len(rest) > STORED_BLOCK:
            yield _stored(rest[:STORED_BLOCK], is_last=False)
            rest = rest[STORED_BLOCK:]
    yield _stored(rest, is_last=True)
    yield checksum.to_bytes(4, "little") + (size & 0xFFFFFFFF).to_bytes(4, "little")


def _stored(block: bytes, *, is_last: bool) -> bytes:
    size = len(block)
    return bytes([is_last]) + size.to_bytes(2, "little") + (size ^ 0xFFFF).to_bytes(2, "little") + block


def _zip(files: list[tuple[str, bytes]]) -> Iterator[bytes]:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as archive:
        for path, content in files:
            member = zipfile.ZipInfo(path, ZIP_TIME)
            member.create_system, member.external_attr = 3, MODE << 16
            archive.writestr(member, content)
    written.seek(0)
    yield from iter(lambda: written.read(STORED_BLOCK), b"")
