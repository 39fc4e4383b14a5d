"""Parts: a skill cut into pieces that fit a window, so that every line is shown, and no piece ends without a context.

Each piece of a file repeats the last few lines of the piece before it. Nothing else is shown twice, and nothing is left
out: what cannot be shown as text is named with its size and digest.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

OVERLAP_LINES = 5
# A line longer than that is cut; a window holds many of these.
LONGEST_LINE = 2_000
OVERLAP_CHARACTERS = 200
# An answer has a receipt for each piece, and only so much room.
MOST_PIECES = 80
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# Bytes that texts do not have; and how many of them an image has at least.
ODD = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
MOST_ODD = 0.05
# Characters that people do not see and models do, or the other way round.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


class TooLarge(Exception):
    """There is more to read than is read of one skill."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line or, of a very long one, a piece; `number` is that of the line."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive lines of one file. `fresh` says from which place on they were not shown before."""

    path: str
    lines: tuple[Line, ...]
    fresh: int = 0

    @property
    def first(self) -> int:
        """The number of the first line."""
        return self.lines[0].number

    @property
    def last(self) -> int:
        """The number of the last line."""
        return self.lines[-1].number

    @property
    def shown(self) -> str:
        """The lines as a model sees them, each with its number in front."""
        return "\n".join(f"{line.number}: {line.text}" for line in self.lines)


def text_of(content: bytes) -> str | None:
    """The text of a file, with everything that cannot be seen or is not UTF-8 spelled out; None if it is no text."""
    if content.startswith(UTF_16):
        return _spelled_out(content.decode("utf-16", "backslashreplace"))
    text = content.decode("utf-8", "backslashreplace")
    # A few odd bytes make no text binary: shells skip them, and so would whoever hides behind them.
    odd = len(ODD.findall(content)) + (len(text) - len(content.decode("utf-8", "ignore"))) // len("\\xff")
    return None if odd > MOST_ODD * len(content) else _spelled_out(text)


def _spelled_out(text: str) -> str:
    return UNSEEN.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text.replace("\r\n", "\n"))


def lines_of(text: str) -> list[Line]:
    """The lines of a text, those that are too long in pieces that overlap."""
    found: list[Line] = []
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) <= LONGEST_LINE:
            found.append(Line(number, line))
            continue
        step = LONGEST_LINE - OVERLAP_CHARACTERS
        found += [
            Line(number, line[start : start + LONGEST_LINE])
            for start in range(0, max(1, len(line) - OVERLAP_CHARACTERS), step)
        ]
    return found


def pieces_of(path: str, content: bytes, room: int) -> list[Piece]:
    """A file in pieces of at most `room` bytes as shown; a file of bytes is one line that says so."""
    text = text_of(content)
    if text is None:
        digest = hashlib.sha256(content).hexdigest()
        return [Piece(path, (Line(1, f"[{len(content)} bytes that are no text, SHA-256 {digest}]"),))]
    pieces: list[Piece] = []
    lines = lines_of(text)
    start = 0
    while start < len(lines):
        overlap = min(OVERLAP_LINES, start) if pieces else 0
        used = sum(_cost(line) for line in lines[start - overlap : start])
        while overlap and used > room // 2:
            used -= _cost(lines[start - overlap])
            overlap -= 1
        end = start
        while end < len(lines) and (end == start or used + _cost(lines[end]) <= room):
            used += _cost(lines[end])
            end += 1
        pieces.append(Piece(path, tuple(lines[start - overlap : end]), overlap))
        start = end
    return pieces


def cut(files: Mapping[str, bytes], room: int, most_parts: int) -> list[list[Piece]]:
    """All files in parts that each fit. Raises TooLarge if there are more parts than `most_parts`."""
    parts: list[list[Piece]] = []
    left = 0
    for piece in _all_pieces(files, room):
        size = _size(piece)
        if not parts or size > left or len(parts[-1]) == MOST_PIECES:
            if len(parts) == most_parts:
                raise TooLarge
            parts.append([])
            left = room
        parts[-1].append(piece)
        left -= size
    return parts


def _all_pieces(files: Mapping[str, bytes], room: int) -> Iterator[Piece]:
    """The instructions first: what comes after is read in their light."""
    for path in sorted(files, key=lambda path: (path != "SKILL.md", path)):
        yield from pieces_of(path, files[path], room)


def _cost(line: Line) -> int:
    return len(line.text.encode(errors="replace")) + 8


def _size(piece: Piece) -> int:
    return sum(map(_cost, piece.lines)) + 2 * len(piece.path) + 200
