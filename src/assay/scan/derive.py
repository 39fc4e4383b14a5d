"""Derived texts: what a text becomes once it is decoded or put together, as a shell or an agent would."""

import binascii
from collections.abc import Iterator

from assay.scan.disguises import DISGUISES, Disguise
from assay.scan.text import Text

MAX_DEPTH = 3
_SHORTEST = 6
_READABLE_SHARE = 0.9
_PRINTABLE = bytes(range(32, 127)) + b"\n\r\t"
_LINE_ENDS = (b"\n", b"\x0b")


def derived_texts(text: Text, disguises: dict[int, list[int]]) -> Iterator[Text]:
    """The texts that are hidden in this one, by the disguises whose probes saw something, and where they did."""
    for number, ends in sorted(disguises.items()):
        disguise = DISGUISES[number]
        pieces = _changed_lines(text, disguise, ends) if disguise.in_place else _decoded_pieces(text, disguise)
        lines, revealed = [], []
        for line, piece in pieces:
            # A piece may hold lines of its own; each of them stands on the line of the piece.
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
    passed = 0
    for end in sorted(ends):
        if end <= passed:
            continue
        begin = max(text.data.rfind(mark, 0, end - 1) for mark in _LINE_ENDS) + 1
        passed = min(
            (place for mark in _LINE_ENDS if (place := text.data.find(mark, end)) >= 0), default=len(text.data)
        )
        line = text.data[begin:passed]
        changed = disguise.reveal(line)
        if changed != line:
            yield text.line_at(begin), changed


def _is_readable(data: bytes) -> bool:
    sample = data[:400]
    return len(sample.translate(None, _PRINTABLE)) <= (1 - _READABLE_SHARE) * len(sample)
