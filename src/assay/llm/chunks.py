"""Splitting of a skill into chunks that fit the context window of a model.

Every line is in a chunk. Each chunk repeats the last lines of the previous one of its file; nothing else is repeated.
Binary files are represented by their size and digest.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

OVERLAP_LINES = 5
# Longer lines are split.
MAX_LINE_LENGTH = 2_000
OVERLAP_CHARACTERS = 200
# Limit per call, because an answer contains a receipt for each chunk.
MAX_CHUNKS = 80
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# Bytes that do not occur in text, and the share of them above which a file is binary.
CONTROL_BYTES = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
MAX_CONTROL_SHARE = 0.05
# Characters that are invisible to people or to models.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


class SkillTooLarge(Exception):
    """The skill needs more calls than allowed."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line, or a part of a very long one, with its line number."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive lines of one file; the first `overlap` ones repeat the previous chunk."""

    path: str
    lines: tuple[Line, ...]
    overlap: int = 0

    @property
    def first(self) -> int:
        return self.lines[0].number

    @property
    def last(self) -> int:
        return self.lines[-1].number

    @property
    def rendered(self) -> str:
        """The lines as shown to the model, each prefixed with its number."""
        return "\n".join(f"{line.number}: {line.text}" for line in self.lines)


def text_of(content: bytes) -> str | None:
    """Return the text of a file with invisible characters and invalid UTF-8 escaped; None if it is binary."""
    if content.startswith(UTF_16):
        return _escape_invisible(content.decode("utf-16", "backslashreplace"))
    text = content.decode("utf-8", "backslashreplace")
    # A few control bytes do not make a file binary: shells skip them, and an attacker could hide behind them.
    unusual = len(CONTROL_BYTES.findall(content)) + (len(text) - len(content.decode("utf-8", "ignore"))) // len("\\xff")
    return None if unusual > MAX_CONTROL_SHARE * len(content) else _escape_invisible(text)


def _escape_invisible(text: str) -> str:
    return INVISIBLE.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text.replace("\r\n", "\n"))


def lines_of(text: str) -> list[Line]:
    """Return the lines of a text; long ones as overlapping parts."""
    found: list[Line] = []
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) <= MAX_LINE_LENGTH:
            found.append(Line(number, line))
            continue
        step = MAX_LINE_LENGTH - OVERLAP_CHARACTERS
        found += [
            Line(number, line[start : start + MAX_LINE_LENGTH])
            for start in range(0, max(1, len(line) - OVERLAP_CHARACTERS), step)
        ]
    return found


def chunks_of(path: str, content: bytes, room: int) -> list[Chunk]:
    """Return chunks of at most `room` rendered bytes; a binary file is one line."""
    text = text_of(content)
    if text is None:
        digest = hashlib.sha256(content).hexdigest()
        return [Chunk(path, (Line(1, f"[{len(content)} bytes that are no text, SHA-256 {digest}]"),))]
    chunks: list[Chunk] = []
    lines = lines_of(text)
    start = 0
    while start < len(lines):
        overlap = min(OVERLAP_LINES, start) if chunks else 0
        used = sum(_cost(line) for line in lines[start - overlap : start])
        while overlap and used > room // 2:
            used -= _cost(lines[start - overlap])
            overlap -= 1
        end = start
        while end < len(lines) and (end == start or used + _cost(lines[end]) <= room):
            used += _cost(lines[end])
            end += 1
        chunks.append(Chunk(path, tuple(lines[start - overlap : end]), overlap))
        start = end
    return chunks


def split_files(files: Mapping[str, bytes], room: int, max_parts: int) -> list[list[Chunk]]:
    """Group the chunks of all files into parts of at most `room` bytes. Raises SkillTooLarge."""
    parts: list[list[Chunk]] = []
    left = 0
    for chunk in _all_chunks(files, room):
        size = _size(chunk)
        if not parts or size > left or len(parts[-1]) == MAX_CHUNKS:
            if len(parts) == max_parts:
                raise SkillTooLarge
            parts.append([])
            left = room
        parts[-1].append(chunk)
        left -= size
    return parts


def _all_chunks(files: Mapping[str, bytes], room: int) -> Iterator[Chunk]:
    """Yield the chunks of SKILL.md first, as context for the others."""
    for path in sorted(files, key=lambda path: (path != "SKILL.md", path)):
        yield from chunks_of(path, files[path], room)


def _cost(line: Line) -> int:
    return len(line.text.encode(errors="replace")) + 8


def _size(chunk: Chunk) -> int:
    return sum(map(_cost, chunk.lines)) + 2 * len(chunk.path) + 200
