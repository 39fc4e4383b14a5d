"""Derived texts: a text after decoding or joining, as a shell or an agent would see it."""

import binascii
from collections.abc import Iterator

from assay.scan.decode.disguises import DISGUISES, Disguise
from assay.scan.text.text import Text

MAX_DEPTH = 3
_SHORTEST = 6
_NEIGHBOURS = 4
_READABLE_SHARE = 0.9
_PRINTABLE = bytes(range(32, 127)) + b"\n\r\t"
_LINE_ENDS = (b"\n", b"\x0b")


def derived_texts(text: Text, disguises: dict[int, list[int]]) -> Iterator[Text]:
    """Yield the texts hidden in this one. `disguises` maps detected disguises to the ends of their probes."""
    for number, ends in sorted(disguises.items()):
        disguise = DISGUISES[number]
        pieces = _changed_lines(text, disguise, ends) if disguise.in_place else _decoded_pieces(text, disguise)
        lines, revealed = [], []
        for line, piece in pieces:
            # A piece may contain several lines, which all map to the line of the piece.
            lines += [line] * (piece.count(b"\n") + 1)
            revealed.append(piece)
        if revealed:
            hidden_as = f"{text.hidden_as}, {disguise.name}" if text.hidden_as else disguise.name
            whole = (text.whole or text) if disguise.in_place else None
            yield Text(text.path, text.kind, b"\n".join(revealed) + b"\n", b"", hidden_as, tuple(lines), whole)


def _decoded_pieces(text: Text, disguise: Disguise) -> Iterator[tuple[int, bytes]]:
    for match in disguise.piece.finditer(text.data):
        try:
            revealed = disguise.reveal(match[0])
        except (ValueError, binascii.Error, UnicodeError):
            continue
        if len(revealed) >= _SHORTEST and _is_readable(revealed):
            if disguise.keeps_lines:
                yield from zip(text.lines_from(match.start()), revealed.split(b"\n"), strict=False)
            else:
                yield text.line_at(match.start()), revealed


def _changed_lines(text: Text, disguise: Disguise, ends: list[int]) -> Iterator[tuple[int, bytes]]:
    """Yield changed lines among their unchanged neighbours, because a match may span lines."""
    changed: dict[int, bytes] = {}
    neighbours: dict[int, bytes] = {}
    passed = 0
    for end in sorted(ends):
        if end <= passed:
            continue
        begin, passed = _line_around(text.data, end - 1)
        line = text.data[begin:passed]
        if (plain := disguise.reveal(line)) != line:
            changed[begin] = plain
            neighbours.update(_neighbours(text.data, begin, passed))
    for begin, line in sorted((neighbours | changed).items()):
        yield text.line_at(begin), line


def _line_around(data: bytes, place: int) -> tuple[int, int]:
    """Return the start and end of the line that contains this offset."""
    begin = max(data.rfind(mark, 0, place) for mark in _LINE_ENDS) + 1
    return begin, min((end for mark in _LINE_ENDS if (end := data.find(mark, place)) >= 0), default=len(data))


def _neighbours(data: bytes, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield the nearest lines above and below a line, with their offsets."""
    above, below = begin, end
    for _ in range(_NEIGHBOURS):
        if above > 0:
            last, (above, _) = above - 1, _line_around(data, above - 1)
            yield above, data[above:last]
        if below < len(data):
            first, (_, below) = below + 1, _line_around(data, below + 1)
            yield first, data[first:below]


def _is_readable(data: bytes) -> bool:
    sample = data[:400]
    return len(sample.translate(None, _PRINTABLE)) <= (1 - _READABLE_SHARE) * len(sample)
