"""The tar inside a gzip, as tarfile wants to read it, and no further than the limits allow."""

import gzip
import re
from typing import IO

from assay.fetch.limits import Limits
from assay.model.errors import Invalid

BLOCK_BYTES = 512
END_MARK = bytes(BLOCK_BYTES)
STEP_BYTES = 65_536
# An entry costs a header, perhaps a long name with its own header, and padding.
ENTRY_BYTES = 4 * BLOCK_BYTES
# Long names and attributes. tarfile needs quadratic time for some that are larger, or have longer numbers
# (CVE-2024-6232), and it reads them into memory whatever their size.
LARGEST_HEADER_BYTES = 16_384
LONG_NUMBER = re.compile(rb"[0-9]{256}")


class Inflated:
    """A file that is read forwards only, in pieces that fit, to a last byte that is checked."""

    def __init__(self, stream: IO[bytes], limits: Limits) -> None:
        self._gzip = gzip.GzipFile(fileobj=stream)
        self._limits = limits
        self._largest_piece = max(limits.file_bytes, LARGEST_HEADER_BYTES)
        self._at_most = limits.archive_bytes + limits.archive_entries * ENTRY_BYTES
        self._position = 0
        self._headers = 0
        self._last = b""

    def tell(self) -> int:
        """How far it was read."""
        return self._position
