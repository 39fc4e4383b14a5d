"""The tar stream inside a gzip file, as tarfile reads it, within limits."""

import gzip
import re
from typing import IO

from assay.fetch.limits import Limits
from assay.model.errors import Invalid

BLOCK_BYTES = 512
END_MARK = bytes(BLOCK_BYTES)
STEP_BYTES = 65_536
# Overhead of an entry: a header, possibly a second one for a long name, and padding.
ENTRY_BYTES = 4 * BLOCK_BYTES
# tarfile reads long names and attributes into memory whatever their size, and takes quadratic time for some that are
# large or contain long numbers (CVE-2024-6232); no valid path needs more than this.
LARGEST_HEADER_BYTES = 16_384
LONG_NUMBER = re.compile(rb"[0-9]{256}")


class BoundedTarStream:
    """A forward-only stream; tarfile reads headers through `read`, and file contents are read through `content`."""

    def __init__(self, stream: IO[bytes], limits: Limits) -> None:
        self._gzip = gzip.GzipFile(fileobj=stream)
        self._at_most = limits.archive_bytes + limits.archive_entries * ENTRY_BYTES
        self._position = 0
        self._last_header = b""

    def tell(self) -> int:
        return self._position

    def seek(self, position: int) -> None:
        """Skip forwards; a negative size would seek backwards and loop forever (CVE-2025-8194)."""
        self._allow(position)
        if position < self._position:
            raise ValueError("an entry has a negative size")
        while self._position < position and self.content(min(STEP_BYTES, position - self._position)):
            pass

    def read(self, size: int) -> bytes:
        """Read a header or an extension of it."""
        if size > LARGEST_HEADER_BYTES:
            raise ValueError("a header is too large")
        self._last_header = self.content(size)
        if LONG_NUMBER.search(self._last_header):
            raise ValueError("a header contains too long a number")
        return self._last_header

    def content(self, size: int) -> bytes:
        """Read bytes of a file; fewer only at the end of the stream."""
        if size < 0:
            raise ValueError("an entry has a negative size")
        self._allow(self._position + size)
        data = self._gzip.read(size)
        self._position += len(data)
        return data

    def finish(self) -> None:
        """Check that the archive is complete: tarfile takes any invalid header for the end and checks no checksum."""
        if self._last_header != END_MARK:
            raise ValueError("the end-of-archive marker is missing")
        while self.content(STEP_BYTES):
            pass

    def _allow(self, position: int) -> None:
        if position > self._at_most + STEP_BYTES:
            raise Invalid(f"The archive unpacks to more than {self._at_most} bytes.", code="archive_too_large")
