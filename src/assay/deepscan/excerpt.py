"""Sanitised text of tools and skills: short, printable, and without anything that looks like a secret."""

import re

LONGEST_EXCERPT, LONGEST_MESSAGE, LONGEST_NAME = 160, 500, 200
# Long words in the alphabet of common encodings, which may be keys.
SECRET_LIKE = re.compile(r"[A-Za-z0-9+/_=-]{20,}")
HIDDEN = "[hidden]"


def printable_line(text: str, at_most: int) -> str:
    """Collapse text into one printable line, truncated."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text[: at_most * 4]).split())
    return line if len(line) <= at_most else line[: at_most - 1] + "…"


def excerpt_of(content: bytes, line: int) -> str:
    """Return a line of a file with possible secrets hidden; empty if there is no such line."""
    lines = content.splitlines()
    if not 1 <= line <= len(lines):
        return ""
    text = lines[line - 1][: LONGEST_EXCERPT * 8].decode(errors="replace")
    return printable_line(SECRET_LIKE.sub(_hide, text), LONGEST_EXCERPT)


def _hide(found: re.Match[str]) -> str:
    """Hide a word unless it looks like an identifier: keys contain digits or are very long."""
    word = found[0]
    is_a_name = not any(each.isdigit() for each in word) and len(word) < 40
    return word if is_a_name else HIDDEN
