"""An excerpt: a piece of a file that is safe to show on one line."""

from assay.scan.view import INVISIBLE

MAX_EXCERPT = 200
_LEAD = 60


def excerpt_of(text: str, at: int = 0) -> str:
    """At most 200 characters of a text, with control and invisible characters escaped: all of it, or from shortly
    before the offset on.
    """
    if len(text) <= MAX_EXCERPT and len(whole := _escaped(text)) <= MAX_EXCERPT:
        return whole
    begin = max(0, at - _LEAD)
    shown = ("…" if begin else "") + _escaped(text[begin : begin + MAX_EXCERPT])
    return shown if len(shown) < MAX_EXCERPT else f"{shown[: MAX_EXCERPT - 1]}…"


def _escaped(text: str) -> str:
    return "".join(_visible(character) for character in text.strip())


def _visible(character: str) -> str:
    if character == "\t":
        return " "
    # What is not printable is every control, format, private or unassigned character and every odd space.
    hidden = not character.isprintable() or INVISIBLE.match(character)
    return f"\\u{{{ord(character):x}}}" if hidden else character
