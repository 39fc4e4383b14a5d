"""Excerpts: parts of a file that are safe to show on one line."""

from assay.scan.text.fold import INVISIBLE

MAX_EXCERPT = 200
_LEAD = 60


def excerpt_of(text: str, at: int = 0, label: str = "") -> str:
    """Return at most 200 characters, with control and invisible characters escaped: the whole text, or the part
    around the offset `at`. The label precedes the excerpt and counts towards the limit.
    """
    room = MAX_EXCERPT - len(label)
    if len(text) <= room and len(whole := _escaped(text)) <= room:
        return label + whole
    begin = max(0, at - _LEAD)
    shown = ("…" if begin else "") + _escaped(text[begin : begin + room])
    return label + (shown if len(shown) < room else f"{shown[: room - 1]}…")


def _escaped(text: str) -> str:
    stripped = text.strip()
    # Fast path: most text is plain ASCII.
    if stripped.isascii() and stripped.isprintable():
        return stripped
    return "".join(_visible(character) for character in stripped)


def _visible(character: str) -> str:
    if character == "\t":
        return " "
    # Control, format, private-use and unassigned characters and unusual spaces are not printable.
    hidden = not character.isprintable() or INVISIBLE.match(character)
    return f"\\u{{{ord(character):x}}}" if hidden else character
