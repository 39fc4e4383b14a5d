"""A view: one reading of a file, and the way back from an offset in it to a line of the file."""

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass

# Characters that take no space: soft hyphen, zero-width, directional, variation selectors, tags.
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e01ef]"
)
_SPACES = re.compile(r"[ \t\r\f\v]+")


@dataclass(frozen=True, slots=True)
class View:
    """Text in which rules search."""

    text: str
    lowered: str
    line_starts: tuple[int, ...]

    def line_at(self, offset: int) -> int:
        """The line of the file, counted from 1, that holds this offset."""
        return bisect_right(self.line_starts, offset)

    def bounds_at(self, offset: int) -> tuple[int, int]:
        """Begin and end of the line of this view that holds the offset."""
        end = self.text.find("\n", offset)
        return self.text.rfind("\n", 0, offset) + 1, len(self.text) if end < 0 else end

    def widened(self, begin: int, end: int, lines: int) -> tuple[int, int]:
        """These bounds with so many lines before and after them."""
        for _ in range(lines):
            begin = self.text.rfind("\n", 0, max(0, begin - 1)) + 1
            following = self.text.find("\n", end + 1)
            end = len(self.text) if following < 0 else following
        return begin, end


def raw_view(lines: list[str]) -> View:
    """The file as it is."""
    return _joined([f"{line}\n" for line in lines])


def folded_view(lines: list[str]) -> View:
    """The file as an agent or a shell takes it: compatibility forms unified, invisible characters gone,
    runs of spaces single, and lines that end in a backslash joined with the next.
    """
    return _joined([_fold(line) for line in lines])


def _fold(line: str) -> str:
    if not line.isascii():
        line = INVISIBLE.sub("", unicodedata.normalize("NFKC", line))
    line = _SPACES.sub(" ", line).rstrip()
    return f"{line[:-1]} " if line.endswith("\\") else f"{line}\n"


def _joined(pieces: list[str]) -> View:
    starts, offset = [], 0
    for piece in pieces:
        starts.append(offset)
        offset += len(piece)
    text = "".join(pieces)
    return View(text, _lowered(text), tuple(starts))


def _lowered(text: str) -> str:
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    # A few letters grow when lowered, which would shift every offset behind them.
    return "".join(low if len(low := character.lower()) == 1 else character for character in text)
