"""Searchable texts of a file, and the mapping from offsets back to lines of the file."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, count

from assay.model.finding import Region
from assay.scan.text.excerpt import excerpt_of
from assay.scan.text.files import FileKind
from assay.scan.text.fold import CONTINUED
from assay.scan.text.region import (
    Regions,
    is_block_quoted,
    is_expression,
    is_listed,
    is_mentioned,
    is_negated,
    is_quoted,
    is_sample,
    is_warned,
    regions_of,
)


@dataclass(frozen=True)
class Text:
    """The folded text of a file and its original bytes. A decoded text instead records its disguise and the lines of
    the file that it comes from.
    """

    path: str
    kind: FileKind
    data: bytes
    content: bytes = b""
    hidden_as: str = ""
    origins: Sequence[int] = ()
    # The text that these lines come from, if lines were only put together and not decoded.
    whole: "Text | None" = None

    @cached_property
    def regions(self) -> Regions:
        return regions_of(self.data)

    def line_at(self, offset: int) -> int:
        """Return the line of the file, counted from 1, that contains this offset."""
        return self.origin_of(bisect_right(self._line_starts, offset))

    def lines_from(self, offset: int) -> Iterator[int]:
        """Yield the line of the file that contains this offset, and the lines below it."""
        return map(self.origin_of, count(bisect_right(self._line_starts, offset)))

    def origin_of(self, line: int) -> int:
        """Return the line of the file that corresponds to a line of this text."""
        return self.origins[min(line, len(self.origins)) - 1] if self.origins else line

    def start_of(self, line: int) -> int:
        """Return the offset at which a line of this text starts."""
        return self._line_starts[min(line, len(self._line_starts)) - 1]

    @cached_property
    def _line_starts(self) -> list[int]:
        plain = self.data.replace(CONTINUED, b"\n").replace(b"\r", b" ")
        return [0, *accumulate(map(len, plain.splitlines(keepends=True)))]

    def region_at(self, offset: int) -> Region:
        if self.is_prose:
            return self.regions.region_at(offset)
        return Region.HIDDEN if self.hidden_as else Region.SCRIPT

    def is_warned(self, offset: int, region: Region) -> bool:
        """Return true if this is warned of, in the same sentence or by the line above the fence."""
        # A warning in a script stands beside code that runs, and people do not read comments and hidden text.
        if not self.is_prose or region is Region.COMMENT:
            return False
        fence = self.regions.fence_at(offset)
        return (fence is not None and fence.is_warned) or is_warned(self.data, offset, in_code=fence is not None)

    def is_negated(self, offset: int, region: Region) -> bool:
        """Return true if the reader is told not to do this."""
        return region.scored_as is Region.PROSE and is_negated(self.data, offset)

    def is_quoted(self, offset: int, region: Region) -> bool:
        """Return true if a quotation starts here. In code and front matter, a quotation mark only starts a value."""
        return self.is_prose and region is Region.PROSE and is_quoted(self.data, offset)

    def is_listed(self, begin: int, end: int, region: Region) -> bool:
        """Return true if this is only mentioned in a sentence or list, or is a sample or search pattern of a tool."""
        if self.kind is FileKind.DATA and not self.hidden_as:
            return is_sample(self.data, begin) or is_sample(self.data, end - 1)
        if self.kind is FileKind.SCRIPT and not self.hidden_as:
            return is_expression(self.data, begin)
        if not self.is_prose or region is not Region.PROSE:
            return False
        named = is_listed(self.data, begin) or is_listed(self.data, end - 1) or is_mentioned(self.data, begin)
        return named or is_block_quoted(self.data, begin)

    @property
    def is_prose(self) -> bool:
        """Return true for Markdown that people and agents read as such."""
        return self.kind is FileKind.MARKDOWN and not self.hidden_as

    def excerpt(self, begin: int, end: int) -> str:
        """Return the line that contains this range, safe to show."""
        start = self.data.rfind(b"\n", 0, begin) + 1
        stop = self.data.find(b"\n", max(end - 1, begin))
        line = self.data[max(start, begin - 300) : min(len(self.data) if stop < 0 else stop, begin + 600)]
        line_text = line.replace(CONTINUED, b" ").replace(b"\n", b" ").decode("utf-8", errors="replace")
        return excerpt_of(line_text, begin - max(start, begin - 300), self.label)

    @property
    def label(self) -> str:
        """The prefix of excerpts that names the disguise of the text."""
        return f"({self.hidden_as}) " if self.hidden_as else ""
