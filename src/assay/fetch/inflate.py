"""The tar inside a gzip, as tarfile wants to read it, and no further than the limits allow."""

import gzip
import re
from typing import IO

from assay.fetch.limits import Limits
from assay.model.errors import Invalid

BLOCK_BYTES = 512
END_MARK = bytes(BLOCK_BYTES)
STEP_BYTES = 65_536
# What an entry costs beside its content: a header, perhaps another with a long name, and padding.
ENTRY_BYTES = 4 * BLOCK_BYTES
# tarfile reads long names and attributes into memory whatever their size, and needs quadratic time for
# some that are large or contain long numbers (CVE-2024-6232); no path needs more than this.
LARGEST_HEADER_BYTES = 16_384
LONG_NUMBER = re.compile(rb"[0-9]{256}")


class Inflated:
    """Read forwards only, once; what tarfile reads are headers, what `content` reads are files."""

    def __init__(self, stream: IO[bytes], limits: Limits) -> None:
        self._gzip = gzip.GzipFile(fileobj=stream)
        self._at_most = limits.archive_bytes + limits.archive_entries * ENTRY_BYTES
        self._position = 0
        self._last_header = b""

    def tell(self) -> int:
        """How many bytes were read."""
        return self._position

    def seek(self, position: int) -> None:
        """Skip forwards; a size below zero would lead backwards, and round in circles (CVE-2025-8194)."""
        self._allow(position)
        if position < self._position:
            raise ValueError("an entry has a negative size")
        while self._position < position and self.content(min(STEP_BYTES, position - self._position)):
            pass

    def read(self, size: int) -> bytes:
        """A header, or what belongs to it."""
        if size > LARGEST_HEADER_BYTES:
            raise ValueError("a header is too large")
        self._last_header = self.content(size)
        if LONG_NUMBER.search(self._last_header):
            raise ValueError("a header contains too long a number")
        return self._last_header

    def content(self, size: int) -> bytes:
        """Bytes of a file; fewer only if nothing more comes."""
        if size < 0:
            raise ValueError("an entry has a negative size")
        self._allow(self._position + size)
        data = self._gzip.read(size)
        self._position += len(data)
        return data

    def finish(self) -> None:
        """Make sure that nothing is missing: tarfile takes any nonsense for the end, and checks no checksum."""
        if self._last_header != END_MARK:
            raise ValueError("it ends without its end mark")
        while self.content(STEP_BYTES):
            pass

    def _allow(self, position: int) -> None:
        if position > self._at_most + STEP_BYTES:
            raise Invalid(f"The archive unpacks to more than {self._at_most} bytes.", code="archive_too_large")
