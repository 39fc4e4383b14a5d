"""An excerpt: a piece of a file that is safe to show on one line."""

from assay.scan.text.fold import INVISIBLE

MAX_EXCERPT = 200
_LEAD = 60


def excerpt_of(text: str, at: int = 0, label: str = "") -> str:
    """At most 200 characters of a text, with control and invisible characters escaped: all of it, or from shortly
    before the offset on. A label says what it is.
    """
    room = MAX_EXCERPT - len(label)
    if len(text) <= room and len(whole := _escaped(text)) <= room:
        return label + whole
    begin = max(0, at - _LEAD)
    shown = ("…" if begin else "") + _escaped(text[begin : begin + room])
    return label + (shown if len(shown) < room else f"{shown[: room - 1]}…")


def _escaped(text: str) -> str:
    stripped = text.strip()
    # Most text is plain, and needs no look at each character.
    if stripped.isascii() and stripped.isprintable():
        return stripped
    return "".join(_visible(character) for character in stripped)


def _visible(character: str) -> str:
    if character == "\t":
        return " "
    # What is not printable is every control, format, private or unassigned character and every odd space.
    hidden = not character.isprintable() or INVISIBLE.match(character)
    return f"\\u{{{ord(character):x}}}" if hidden else character
