"""Text of tools and of skills as it may be kept: short, printable, and without anything that looks like a secret."""

import re

LONGEST_EXCERPT, LONGEST_MESSAGE, LONGEST_NAME = 160, 500, 200
# Long words of letters, digits and what encodings use: no reader needs them, and one of them may be a key.
SECRET_LIKE = re.compile(r"[A-Za-z0-9+/_=-]{20,}")
HIDDEN = "[hidden]"


def plain(text: str, at_most: int) -> str:
    """One printable line."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text[: at_most * 4]).split())
    return line if len(line) <= at_most else line[: at_most - 1] + "…"


def excerpt_of(content: bytes, line: int) -> str:
    """A line of a file, with what looks like a secret hidden."""
    lines = content.splitlines()
    if not 1 <= line <= len(lines):
        return ""
    text = lines[line - 1][: LONGEST_EXCERPT * 8].decode(errors="replace")
    return plain(SECRET_LIKE.sub(_hide, text), LONGEST_EXCERPT)


def _hide(found: re.Match[str]) -> str:
    """Names of things are words; keys are a mixture."""
    word = found[0]
    is_a_name = not any(each.isdigit() for each in word) and len(word) < 40
    return word if is_a_name else HIDDEN
