"""Derived texts: what a text becomes once it is decoded or put together, as a shell or an agent would."""

import base64
import binascii
import codecs
import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from assay.scan.pattern import Pattern
from assay.scan.text import Text

MAX_DEPTH = 3
_SHORTEST = 6
_READABLE_SHARE = 0.9
_PRINTABLE = bytes(range(32, 127)) + b"\n\r\t"

_CHARACTER_CODE = re.compile(rb"\d{2,3}")
_LINES = re.compile(rb"[^\n\x0b]*")
_LINE_ENDS = (b"\n", b"\x0b")


@dataclass(frozen=True, slots=True)
class Disguise:
    """A way to hide text: where it shows, and how it is taken off."""

    name: str
    probe: Pattern
    piece: re.Pattern[bytes]
    reveal: Callable[[bytes], bytes]
    # Whether the lines as a whole change, or only the pieces in them are other text.
    in_place: bool = False


def _from_base64(piece: bytes) -> bytes:
    plain = re.sub(rb"[\s\"'+]", b"", piece).replace(b"-", b"+").replace(b"_", b"/").rstrip(b"=")
    return base64.b64decode(plain[: len(plain) // 4 * 4 + (0 if len(plain) % 4 == 1 else len(plain) % 4)] + b"==")


def _from_hex(piece: bytes) -> bytes:
    return bytes.fromhex(re.sub(rb"0x|[^0-9a-fA-F]", b"", piece.replace(b"\\x", b"")).decode())


def _from_escapes(piece: bytes) -> bytes:
    return (
        codecs.escape_decode(piece)[0]
        if b"\\x" in piece.lower()
        else piece.decode("unicode_escape").encode("utf-8", "replace")
    )


def _from_unicode_escapes(piece: bytes) -> bytes:
    return re.sub(
        rb"\\u\{?([0-9a-fA-F]{2,6})\}?", lambda m: chr(int(m[1], 16) % 0x110000).encode("utf-8", "replace"), piece
    )


def _from_entities(piece: bytes) -> bytes:
    return html.unescape(piece.decode("utf-8", "replace")).encode("utf-8", "replace")


def _from_codes(piece: bytes) -> bytes:
    return bytes(code for code in map(int, _CHARACTER_CODE.findall(piece)) if code < 256)


def _rotated(piece: bytes) -> bytes:
    return codecs.encode(piece.decode("utf-8", "replace"), "rot13").encode("utf-8", "replace")


def _reversed(piece: bytes) -> bytes:
    return piece[::-1]


def _unglued(line: bytes) -> bytes:
    line = re.sub(rb"([\"'`])[ \t]{0,8}(?:\+|\.\.|\.(?=[ \t]?[\"'`]))[ \t]{0,8}([\"'`])", b"", line)
    line = re.sub(rb"(?<=\w)(?:\"\"|''|\"[ \t]\")(?=[\w/.-])", b"", line)
    line = re.sub(rb"(?<=[a-z])\\(?=[a-z]{2,})", b"", line)
    return re.sub(rb"(?<=\w)[\"'](\w{1,12})[\"'](?=\w)", rb"\1", line)


def _unmarked(line: bytes) -> bytes:
    inside = rb"(?<=[a-z])(?:\*{1,3}|~~|__|<!--.{0,40}?-->|</?[bius]>|<wbr>|\xc2\xb7)(?=[a-z])"
    if re.search(inside, line, flags=re.IGNORECASE):
        line = re.sub(rb"\*{1,3}|~~|__|<!--.{0,40}?-->|</?[bius]>|<wbr>|\xc2\xb7", b"", line, flags=re.IGNORECASE)
    return line


def _unspaced(line: bytes) -> bytes:
    def close(match: re.Match[bytes]) -> bytes:
        return re.sub(rb"[ .\-_*]", b"", match[0])

    return re.sub(rb"\b(?:[a-z][ .\-_*]){2,40}[a-z]\b", close, line, flags=re.IGNORECASE)


def _regex(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode(), re.IGNORECASE | re.MULTILINE)


DISGUISES = (
    Disguise(
        "base64",
        Pattern(
            r"[a-z0-9+/]{40}|[a-z0-9+/]{18}={1,2}[^=a-z0-9]|(?:base64|b64\w{0,10}|atob)\b[^\n]{0,60}[a-z0-9+/_-]{16}",
            is_probe=True,
        ),
        _regex(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20,}={0,2}"),
        _from_base64,
    ),
    Disguise(
        "hex",
        Pattern(
            r"[0-9a-f]{16}|(?:0x[0-9a-f]{2}[, ]\s?0x[0-9a-f]{2}[, ]\s?0x[0-9a-f]{2})"
            r"|[0-9a-f]{2} [0-9a-f]{2} [0-9a-f]{2} [0-9a-f]{2} [0-9a-f]{2} [0-9a-f]{2}",
            is_probe=True,
        ),
        _regex(r"(?<![0-9a-z])(?:[0-9a-f]{2}[ ]?){8,}|(?:0x[0-9a-f]{2}[,\s]{1,3}){4,}(?:0x[0-9a-f]{2})?"),
        _from_hex,
    ),
    Disguise(
        "escaped",
        Pattern(r"\\x[0-9a-f]{2}\\x[0-9a-f]{2}\\x[0-9a-f]{2}", is_probe=True),
        _regex(r"(?:\\x[0-9a-f]{2}[\w ./:-]?){3,}"),
        _from_escapes,
    ),
    Disguise(
        "escaped",
        Pattern(r"\\u[{0-9a-f]{4,5}\}?\\u[{0-9a-f]{4,5}\}?\\u", is_probe=True),
        _regex(r"(?:\\u\{?[0-9a-f]{2,6}\}?){3,}"),
        _from_unicode_escapes,
    ),
    Disguise(
        "octal",
        Pattern(r"\\[0-7]{3}\\[0-7]{3}\\[0-7]{3}\\[0-7]{3}", is_probe=True),
        _regex(r"(?:\\[0-7]{3}){4,}"),
        _from_escapes,
    ),
    Disguise(
        "URL-encoded",
        Pattern(r"%[0-9a-f]{2}[\w.:/-]{0,6}%[0-9a-f]{2}[\w.:/-]{0,6}%[0-9a-f]{2}", is_probe=True),
        _regex(r"(?:[\w.:/-]{0,12}%[0-9a-f]{2}){3,}[\w.:/-]{0,200}"),
        unquote_to_bytes,
    ),
    Disguise(
        "HTML entities",
        Pattern(r"&#x?[0-9a-f]{2,6};&#x?[0-9a-f]{2,6};"),
        _LINES,
        _from_entities,
        in_place=True,
    ),
    Disguise(
        "character codes",
        Pattern(
            r"\d{2,3}\s?,\s?\d{2,3}\s?,\s?\d{2,3}\s?,\s?\d{2,3}\s?,\s?\d{2,3}\s?,|chr\(\d{2,3}\)\s?[+.&]\s?chr\(\d{2,3}\)",
            is_probe=True,
        ),
        _regex(r"(?:\d{2,3}\s?,\s?){5,}\d{2,3}|(?:chr\(\d{2,3}\)\s?[+.&]?\s?){4,}"),
        _from_codes,
    ),
    Disguise(
        "rot13",
        Pattern(r"rot_?-?13|a-zA-Z['\"]? ['\"]?n-za-m|tr ['\"]?a-z", is_probe=True),
        _regex(r"^.{6,}$"),
        _rotated,
    ),
    Disguise(
        "reversed",
        Pattern(r"\[::-1\]|\| rev\b|\brev <<|\.reverse\(\)|strrev\(", is_probe=True),
        _regex(r"^.{6,}$"),
        _reversed,
    ),
    Disguise(
        "glued together",
        Pattern(
            r"[a-z_/.~-][\"'`]\s?(?:\+|\.\.)\s?[\"'`][a-z_/.~-]|\w(?:\"\"|'')[\w/.-]|[a-z]\\[a-z]{3}|\w[\"']\w{1,12}[\"']\w"
        ),
        _LINES,
        _unglued,
        in_place=True,
    ),
    Disguise(
        "broken up by marks",
        Pattern(r"[a-z](?:\*{1,3}|__|~~|</?[bius]>|<wbr>)[a-z]|[a-z]<!--[^\n]{0,40}-->[a-z]"),
        _LINES,
        _unmarked,
        in_place=True,
    ),
    Disguise(
        "letter by letter",
        Pattern(r"\b[a-z][ .\-_*][a-z][ .\-_*][a-z][ .\-_*][a-z][ .\-_*][a-z]\b"),
        _LINES,
        _unspaced,
        in_place=True,
    ),
)


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
            yield Text(text.path, text.kind, b"\n".join(revealed) + b"\n", b"", hidden_as, tuple(lines))


def _decoded_pieces(text: Text, disguise: Disguise) -> Iterator[tuple[int, bytes]]:
    for match in disguise.piece.finditer(text.data):
        try:
            revealed = disguise.reveal(match[0])
        except (ValueError, binascii.Error, UnicodeError):
            continue
        if len(revealed) >= _SHORTEST and _is_readable(revealed):
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
