"""A text: one reading of a file, ready to be searched, and the way back from an offset in it to a line of the file."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from assay.scan.excerpt import excerpt_of
from assay.scan.files import FileKind
from assay.scan.fold import CONTINUED
from assay.scan.region import Region, Regions, is_negated, is_quoted, is_warned, regions_of

_FRONT_MATTER = re.compile(rb"\A\s{0,8}---[ \t]*\n.*?^---", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Text:
    """Folded bytes of a file, and its bytes as they are. A decoded text instead knows how it was hidden, and on which
    lines of the file.
    """

    path: str
    kind: FileKind
    data: bytes
    content: bytes = b""
    hidden_as: str = ""
    origins: Sequence[int] = ()

    @cached_property
    def regions(self) -> Regions:
        """The fences and comments, where the file is Markdown."""
        return regions_of(self.data)

    def line_at(self, offset: int) -> int:
        """The line of the file, counted from 1, that holds this offset."""
        line = bisect_right(self._line_starts, offset)
        return self.origins[min(line, len(self.origins)) - 1] if self.origins else line

    @cached_property
    def _line_starts(self) -> list[int]:
        plain = self.data.replace(CONTINUED, b"\n").replace(b"\r", b" ")
        return [0, *accumulate(map(len, plain.splitlines(keepends=True)))]

    def region_at(self, offset: int) -> Region:
        """What this offset stands in."""
        return self.regions.region_at(offset) if self.is_prose else Region.SCRIPT

    def is_doubtful(self, offset: int, region: Region) -> bool:
        """Whether this is warned of, rather than said: in the same sentence, or by the line above the fence."""
        # In a script a warning is a remark beside code that runs; in a comment nobody is there to be warned; and what
        # is hidden is shown to nobody as an example.
        if not self.is_prose or region is Region.COMMENT:
            return False
        fence = self.regions.fence_at(offset)
        return (fence is not None and fence.is_warned) or is_warned(self.data, offset, in_code=fence is not None)

    def is_negated(self, offset: int, region: Region) -> bool:
        """Whether this is said not to be done."""
        return region is Region.PROSE and is_negated(self.data, offset)

    def is_quoted(self, offset: int, region: Region) -> bool:
        """Whether a quotation begins here; in code and in the front matter a quotation mark only begins a value."""
        return self.is_prose and region is Region.PROSE and offset >= self._body and is_quoted(self.data, offset)

    @cached_property
    def _body(self) -> int:
        """Where the front matter ends."""
        block = _FRONT_MATTER.match(self.data)
        return block.end() if block else 0

    @property
    def is_prose(self) -> bool:
        """Whether people and agents read this as Markdown."""
        return self.kind is FileKind.MARKDOWN and not self.hidden_as

    def excerpt(self, begin: int, end: int) -> str:
        """The line that holds this stretch, safe to show."""
        start = self.data.rfind(b"\n", 0, begin) + 1
        stop = self.data.find(b"\n", max(end - 1, begin))
        line = self.data[max(start, begin - 300) : min(len(self.data) if stop < 0 else stop, begin + 600)]
        shown = line.replace(CONTINUED, b" ").replace(b"\n", b" ").decode("utf-8", errors="replace")
        return excerpt_of(shown, begin - max(start, begin - 300), f"({self.hidden_as}) " if self.hidden_as else "")
