"""Folding: normalises text as an agent or a shell reads it, so that look-alike letters or spaces cannot hide words.

Line numbers are preserved, because they are evidence. A trailing backslash continues a line: the line break becomes a
vertical tab, which patterns treat as white space within a line and which still counts as a line.
"""

import re
import unicodedata

CONTINUED = b"\x0b"
# Zero-width characters: soft hyphen, zero-width space, directional marks, variation selectors, tags.
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e01ef]"
)
# Look-alike letters of other alphabets, and signs with an ASCII equivalent.
LOOKALIKES = str.maketrans(
    "абвеёіјкмноԛрѕсстухԁһӏɡɑоցոսսԝүАВЕЅІЈКМНОРСТХУΑΒΕΖΗΙΚΜΝΟΡΤΥΧαεικνορτυχҟҝ’‘‛“”„«»–—−‐‑⁄∕",
    "abveeijkmhoqpscctyxdhlgaogn" + 'uuwyABESIJKMHOPCTXYABEZHIKMNOPTYXaeiknoptuxkk\'\'\'"""""-----//',
)
_ASCII = bytes(range(0x80))
_WIDE = b" " * 16
# Up to this many distinct characters are replaced one after the other; more are translated in one pass.
_FEW = 32
_MOST_KNOWN = 16_384


class TextFolder:
    """Folds text and caches the folded form of each character."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def fold(self, content: bytes) -> bytes:
        """Return the folded text, which always ends with a newline."""
        if b"\t\t\t\t" in content:
            content = content.replace(b"\t", b" ")
        if b"\r" in content:
            content = content.replace(b"\r\n", b"\n").replace(b"\r", b" ")
        if CONTINUED in content:
            content = content.replace(CONTINUED, b" ")
        if b"\\\n" in content:
            content = content.replace(b"\\\n", b" " + CONTINUED)
        if not content.isascii():
            content = self._folded(content)
        while _WIDE in content:
            content = content.replace(_WIDE, b"  ")
        return content if content.endswith(b"\n") else content + b"\n"

    def _folded(self, content: bytes) -> bytes:
        text = content.decode("utf-8", errors="replace")
        content = text.encode()
        characters = set(content.translate(None, _ASCII).decode())
        changes = {character: folded for character in characters if (folded := self._fold(character)) != character}
        if len(changes) > _FEW:
            return text.translate({ord(character): folded for character, folded in changes.items()}).encode()
        for character, folded in changes.items():
            content = content.replace(character.encode(), folded.encode())
        return content

    def _fold(self, character: str) -> str:
        folded = self._known.get(character)
        if folded is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            folded = self._known[character] = _folded_character(character)
        return folded


def _folded_character(character: str) -> str:
    if INVISIBLE.match(character):
        return ""
    plain = (each for each in unicodedata.normalize("NFKD", character) if not unicodedata.combining(each))
    return "".join(plain).translate(LOOKALIKES).replace("\n", " ")
