"""Functions that reveal the text behind a disguise, one piece or line at a time."""

import base64
import codecs
import html
import re

_CHARACTER_CODE = re.compile(rb"\d{2,3}")
_JSON_ESCAPE = re.compile(rb"\\([nrtbf\"/\\])")
_JSON_ESCAPES = {b"n": b"\n", b"r": b"\n", b"t": b"\t", b"b": b" ", b"f": b" "}
# A string on one line; the end of the line does not end it.
STRING = re.compile(rb"(?<!\\)(?:\"(?:[^\"\n\\]|\\.)*+\"|'(?:[^'\n\\]|\\.)*+')")
# Not a comment that starts within another: removing it would remove the text between the two.
_MARKS = rb"(?:\*{1,3}|~~|__|<!--(?:(?!<!--).){0,40}?-->|</?[bius]>|<wbr>|\xc2\xb7)"
_MARK = re.compile(_MARKS, re.IGNORECASE)
_MARK_INSIDE = re.compile(rb"(?<=[a-z])" + _MARKS + rb"(?=[a-z])", re.IGNORECASE)
_PATH_IN_PIECES = re.compile(rb"[\"']\.[\w.-]{1,40}[\"'](?:[ ]?[,/][ ]?[\"'][\w.-]{1,60}[\"']){1,8}")
_BETWEEN_PIECES = re.compile(rb"[\"'][ ]?[,/][ ]?[\"']")


def from_base64(piece: bytes) -> bytes:
    """Decode base64 in either alphabet, with or without line breaks and padding."""
    plain = piece.replace(b"\n", b"").replace(b"-", b"+").replace(b"_", b"/").rstrip(b"=")
    return base64.b64decode(plain[: len(plain) // 4 * 4 + (0 if len(plain) % 4 == 1 else len(plain) % 4)] + b"==")


def from_hex(piece: bytes) -> bytes:
    """Decode pairs of hexadecimal digits, with or without separators."""
    return bytes.fromhex(re.sub(rb"0x|[^0-9a-fA-F]", b"", piece.replace(b"\\x", b"")).decode())


def from_escapes(piece: bytes) -> bytes:
    """Decode byte escapes, as in C."""
    return (
        codecs.escape_decode(piece)[0]
        if b"\\x" in piece.lower()
        else piece.decode("unicode_escape").encode("utf-8", "replace")
    )


def from_unicode_escapes(piece: bytes) -> bytes:
    """Decode character escapes, as in JavaScript."""
    return re.sub(
        rb"\\u\{?([0-9a-fA-F]{2,6})\}?", lambda m: chr(int(m[1], 16) % 0x110000).encode("utf-8", "replace"), piece
    )


def from_entities(piece: bytes) -> bytes:
    return html.unescape(piece.decode("utf-8", "replace")).encode("utf-8", "replace")


def from_codes(piece: bytes) -> bytes:
    """Decode decimal character codes."""
    return bytes(code for code in map(int, _CHARACTER_CODE.findall(piece)) if code < 256)


def from_rot13(piece: bytes) -> bytes:
    """Apply rot13."""
    return codecs.encode(piece.decode("utf-8", "replace"), "rot13").encode("utf-8", "replace")


def from_reversed(piece: bytes) -> bytes:
    """Reverse the text."""
    return piece[::-1]


def from_json_string(piece: bytes) -> bytes:
    """Unescape the content of a JSON string, even if it is cut off or malformed."""
    if b"\\" not in piece:
        return b""
    inner = piece[1:].removesuffix(b'"')
    plain = _JSON_ESCAPE.sub(lambda match: _JSON_ESCAPES.get(match[1], match[1]), inner)
    return from_unicode_escapes(plain) if b"\\u" in plain else plain


def from_shell_string(piece: bytes) -> bytes:
    """Remove the quotes of the program that runs a shell command."""
    if piece.startswith((b"<<", b"@")):
        # The text starts below its marker; an empty line stands for the line of the marker.
        return piece[piece.find(b"\n") :]
    return piece[1:-1].replace(b'\\"', b'"')


def collapse_gaps(line: bytes) -> bytes:
    """Reduce gaps between words to one space."""
    return re.sub(rb"[ \t]{2,}", b" ", line)


def join_concatenated(line: bytes) -> bytes:
    """Join concatenated strings and words that are interrupted by quotes or backslashes."""
    line = re.sub(rb"([\"'`])[ \t]{0,8}(?:\+|\.\.|\.(?=[ \t]?[\"'`]))[ \t]{0,8}([\"'`])", b"", line)
    line = re.sub(rb"(?<=\w)(?:\"\"|''|\"[ \t]\")(?=[\w/.-])", b"", line)
    line = re.sub(rb"(?<=[a-z])\\(?=[a-z]{2,})|(?<=\b[a-z])\\(?=[a-z][ \t])", b"", line)
    return re.sub(rb"(?<=\w)[\"'](\w{1,12})[\"'](?=\w)", rb"\1", line)


def join_path_pieces(line: bytes) -> bytes:
    """Join the pieces of a path: `".ssh", "id_rsa"` and `".ssh" / "id_rsa"`."""
    return _PATH_IN_PIECES.sub(lambda match: _BETWEEN_PIECES.sub(b"/", match[0]), line)


def join_adjacent_strings(piece: bytes) -> bytes:
    """Join the text of adjacent strings."""
    joined = b"".join(string[1:-1] for string in STRING.findall(piece))
    return _JSON_ESCAPE.sub(lambda match: _JSON_ESCAPES.get(match[1], match[1]), joined)


def strip_marks(line: bytes) -> bytes:
    """Remove markup if some of it is within a word."""
    return _MARK.sub(b"", line) if _MARK_INSIDE.search(line) else line


def join_letters(line: bytes) -> bytes:
    """Join words that are spelled letter by letter."""

    def close(match: re.Match[bytes]) -> bytes:
        return re.sub(rb"[ .\-_*]", b"", match[0])

    # Words are separated more widely than their letters, so joining the letters leaves wide gaps.
    return collapse_gaps(re.sub(rb"\b(?:[a-z][ .\-_*]){1,40}[a-z]\b", close, line, flags=re.IGNORECASE))
