"""Folding: a file as an agent or a shell takes it, so that no disguise of letters or spaces hides a word.

Lines stay where they are, for their numbers are evidence. A line that ends in a backslash goes on in the next: its end
becomes a vertical tab, which is white space and no end of a line to any pattern, and still counts as a line.
"""

import re
import unicodedata

CONTINUED = b"\x0b"
# Characters that take no space: soft hyphen, zero-width, directional, variation selectors, tags.
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e01ef]"
)
# Letters of other alphabets that look like ours, and signs with a plain twin.
_LOOKALIKES = str.maketrans(
    "абвеёіјкмноԛрѕсстухԁһӏɡɑоցոսսԝүАВЕЅІЈКМНОРСТХУΑΒΕΖΗΙΚΜΝΟΡΤΥΧαεικνορτυχҟҝ’‘‛“”„«»–—−‐‑⁄∕",
    "abveeijkmhoqpscctyxdhlgaogn" + 'uuwyABESIJKMHOPCTXYABEZHIKMNOPTYXaeiknoptuxkk\'\'\'"""""-----//',
)
_RUN = re.compile(rb"[\x80-\xff]+")
_WIDE = b" " * 16
_PLAIN = 0x80
_KNOWN_RUNS = 4096


class Folder:
    """Folds text, and remembers how it folded each run of characters that are not ASCII: most come again and again."""

    def __init__(self) -> None:
        self._known: dict[bytes, bytes] = {}

    def fold(self, content: bytes) -> bytes:
        """The folded text, whose every line ends."""
        if b"\t\t\t\t" in content:
            content = content.replace(b"\t", b" ")
        if b"\r" in content:
            content = content.replace(b"\r\n", b"\n").replace(b"\r", b" ")
        if CONTINUED in content:
            content = content.replace(CONTINUED, b" ")
        if b"\\\n" in content:
            content = content.replace(b"\\\n", b" " + CONTINUED)
        if not content.isascii():
            content = _RUN.sub(self._folded, content)
        while _WIDE in content:
            content = content.replace(_WIDE, b"  ")
        return content if content.endswith(b"\n") else content + b"\n"

    def _folded(self, match: re.Match[bytes]) -> bytes:
        run = match[0]
        folded = self._known.get(run)
        if folded is None:
            folded = _fold_run(run)
            if len(self._known) >= _KNOWN_RUNS:
                self._known.clear()
            if len(run) <= _PLAIN:
                self._known[run] = folded
        return folded


def _fold_run(run: bytes) -> bytes:
    text = unicodedata.normalize("NFKD", INVISIBLE.sub("", run.decode("utf-8", errors="replace")))
    bare = "".join(character for character in text if not unicodedata.combining(character))
    return bare.translate(_LOOKALIKES).replace("\n", " ").encode("utf-8")
