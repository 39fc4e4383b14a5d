"""A text: one reading of a file, ready to be searched, and the way back from an offset in it to a line of the file."""

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
    is_expression,
    is_listed,
    is_named,
    is_negated,
    is_quoted,
    is_sample,
    is_shown,
    is_warned,
    regions_of,
)


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
    # The text whose lines these are, where lines were only put together and nothing was decoded.
    whole: "Text | None" = None

    @cached_property
    def regions(self) -> Regions:
        """The front matter, fences and comments, where the file is Markdown."""
        return regions_of(self.data)

    def line_at(self, offset: int) -> int:
        """The line of the file, counted from 1, that holds this offset."""
        return self.origin_of(bisect_right(self._line_starts, offset))

    def lines_from(self, offset: int) -> Iterator[int]:
        """The line of the file that holds this offset, and those below it."""
        return map(self.origin_of, count(bisect_right(self._line_starts, offset)))

    def origin_of(self, line: int) -> int:
        """The line of the file on which a line of this text stands."""
        return self.origins[min(line, len(self.origins)) - 1] if self.origins else line

    def start_of(self, line: int) -> int:
        """Where a line of this text begins."""
        return self._line_starts[min(line, len(self._line_starts)) - 1]

    @cached_property
    def _line_starts(self) -> list[int]:
        plain = self.data.replace(CONTINUED, b"\n").replace(b"\r", b" ")
        return [0, *accumulate(map(len, plain.splitlines(keepends=True)))]

    def region_at(self, offset: int) -> Region:
        """What this offset stands in."""
        if self.is_prose:
            return self.regions.region_at(offset)
        return Region.HIDDEN if self.hidden_as else Region.SCRIPT

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
        return region.weighed_as is Region.PROSE and is_negated(self.data, offset)

    def is_quoted(self, offset: int, region: Region) -> bool:
        """Whether a quotation begins here; in code and in the front matter a quotation mark only begins a value."""
        return self.is_prose and region is Region.PROSE and is_quoted(self.data, offset)

    def is_listed(self, begin: int, end: int, region: Region) -> bool:
        """Whether this stretch is named, in a sentence or among other things, or is searched for or tried by a tool."""
        if self.kind is FileKind.DATA and not self.hidden_as:
            return is_sample(self.data, begin) or is_sample(self.data, end - 1)
        if self.kind is FileKind.SCRIPT and not self.hidden_as:
            return is_expression(self.data, begin)
        if not self.is_prose or region is not Region.PROSE:
            return False
        named = is_listed(self.data, begin) or is_listed(self.data, end - 1) or is_named(self.data, begin)
        return named or is_shown(self.data, begin)

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
        return excerpt_of(shown, begin - max(start, begin - 300), self.label)

    @property
    def label(self) -> str:
        """What an excerpt says before it shows what was hidden."""
        return f"({self.hidden_as}) " if self.hidden_as else ""
