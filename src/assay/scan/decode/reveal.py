"""Taking a disguise off: what stands behind one piece of hidden text."""

import base64
import codecs
import html
import re

_CHARACTER_CODE = re.compile(rb"\d{2,3}")
_JSON_ESCAPE = re.compile(rb"\\([nrtbf\"/\\])")
_JSON_ESCAPES = {b"n": b"\n", b"r": b"\n", b"t": b"\t", b"b": b" ", b"f": b" "}
# A string on one line; the end of that ends nothing.
STRING = re.compile(rb"(?<!\\)(?:\"(?:[^\"\n\\]|\\.)*+\"|'(?:[^'\n\\]|\\.)*+')")
# Not a comment that begins within another: the first would take what stands between the two away.
_MARKS = rb"(?:\*{1,3}|~~|__|<!--(?:(?!<!--).){0,40}?-->|</?[bius]>|<wbr>|\xc2\xb7)"
_MARK = re.compile(_MARKS, re.IGNORECASE)
_MARK_INSIDE = re.compile(rb"(?<=[a-z])" + _MARKS + rb"(?=[a-z])", re.IGNORECASE)
_PATH_IN_PIECES = re.compile(rb"[\"']\.[\w.-]{1,40}[\"'](?:[ ]?[,/][ ]?[\"'][\w.-]{1,60}[\"']){1,8}")
_BETWEEN_PIECES = re.compile(rb"[\"'][ ]?[,/][ ]?[\"']")


def from_base64(piece: bytes) -> bytes:
    """Base64 in either alphabet, with or without line ends and padding."""
    plain = piece.replace(b"\n", b"").replace(b"-", b"+").replace(b"_", b"/").rstrip(b"=")
    return base64.b64decode(plain[: len(plain) // 4 * 4 + (0 if len(plain) % 4 == 1 else len(plain) % 4)] + b"==")


def from_hex(piece: bytes) -> bytes:
    """Pairs of hexadecimal digits, with or without marks between them."""
    return bytes.fromhex(re.sub(rb"0x|[^0-9a-fA-F]", b"", piece.replace(b"\\x", b"")).decode())


def from_escapes(piece: bytes) -> bytes:
    """Escapes of bytes, as in C."""
    return (
        codecs.escape_decode(piece)[0]
        if b"\\x" in piece.lower()
        else piece.decode("unicode_escape").encode("utf-8", "replace")
    )


def from_unicode_escapes(piece: bytes) -> bytes:
    """Escapes of characters, as in JavaScript."""
    return re.sub(
        rb"\\u\{?([0-9a-fA-F]{2,6})\}?", lambda m: chr(int(m[1], 16) % 0x110000).encode("utf-8", "replace"), piece
    )


def from_entities(piece: bytes) -> bytes:
    """Entities of HTML."""
    return html.unescape(piece.decode("utf-8", "replace")).encode("utf-8", "replace")


def from_codes(piece: bytes) -> bytes:
    """Numbers of characters."""
    return bytes(code for code in map(int, _CHARACTER_CODE.findall(piece)) if code < 256)


def rotated(piece: bytes) -> bytes:
    """Each letter thirteen places on."""
    return codecs.encode(piece.decode("utf-8", "replace"), "rot13").encode("utf-8", "replace")


def turned(piece: bytes) -> bytes:
    """From the end to the beginning."""
    return piece[::-1]


def unwrapped(piece: bytes) -> bytes:
    """What a string of JSON holds, also if it is cut off or not quite one."""
    if b"\\" not in piece:
        return b""
    inner = piece[1:].removesuffix(b'"')
    plain = _JSON_ESCAPE.sub(lambda match: _JSON_ESCAPES.get(match[1], match[1]), inner)
    return from_unicode_escapes(plain) if b"\\u" in plain else plain


def issued(piece: bytes) -> bytes:
    """A command without the quotes of the program that issues it."""
    if piece.startswith((b"<<", b"@")):
        # What begins below its mark; an empty line stands for that of the mark.
        return piece[piece.find(b"\n") :]
    return piece[1:-1].replace(b'\\"', b'"')


def narrowed(line: bytes) -> bytes:
    """A line whose words are one space apart."""
    return re.sub(rb"[ \t]{2,}", b" ", line)


def unglued(line: bytes) -> bytes:
    """A line whose strings and words are put together."""
    line = re.sub(rb"([\"'`])[ \t]{0,8}(?:\+|\.\.|\.(?=[ \t]?[\"'`]))[ \t]{0,8}([\"'`])", b"", line)
    line = re.sub(rb"(?<=\w)(?:\"\"|''|\"[ \t]\")(?=[\w/.-])", b"", line)
    line = re.sub(rb"(?<=[a-z])\\(?=[a-z]{2,})|(?<=\b[a-z])\\(?=[a-z][ \t])", b"", line)
    return re.sub(rb"(?<=\w)[\"'](\w{1,12})[\"'](?=\w)", rb"\1", line)


def united(line: bytes) -> bytes:
    """ ".ssh", "id_rsa" and ".ssh" / "id_rsa" as the path that a program makes of them."""
    return _PATH_IN_PIECES.sub(lambda match: _BETWEEN_PIECES.sub(b"/", match[0]), line)


def strung(piece: bytes) -> bytes:
    """The text of strings that follow each other."""
    joined = b"".join(string[1:-1] for string in STRING.findall(piece))
    return _JSON_ESCAPE.sub(lambda match: _JSON_ESCAPES.get(match[1], match[1]), joined)


def unmarked(line: bytes) -> bytes:
    """A line without marks, if one of them stands within a word."""
    return _MARK.sub(b"", line) if _MARK_INSIDE.search(line) else line


def unspaced(line: bytes) -> bytes:
    """A line whose words are no longer spelled letter by letter."""

    def close(match: re.Match[bytes]) -> bytes:
        return re.sub(rb"[ .\-_*]", b"", match[0])

    # Words are farther apart than their letters; once these are closed, they are as far apart as ever.
    return narrowed(re.sub(rb"\b(?:[a-z][ .\-_*]){1,40}[a-z]\b", close, line, flags=re.IGNORECASE))
