"""Confusable names: skeletons and mixed alphabets, after Unicode Technical Standard 39.

Two names with the same skeleton look alike. Unlike in the standard, marks are dropped (é looks like e in a list), and
the table has only letters that look like ASCII letters, because popular names consist of those.
"""

import tomllib
import unicodedata
from functools import cache
from importlib.resources import files

from assay.scan.text.fold import INVISIBLE, LOOKALIKES

# ASCII characters that look alike once they stand in a name.
_ALIKE = str.maketrans("01i|", "olll")
_SEQUENCES = (("rn", "m"), ("vv", "w"))


def skeleton(name: str) -> str:
    """Return a text that is equal for names that look alike. It is for comparison only."""
    plain = (name.lower() if name.isascii() else _ascii_like(name)).translate(_ALIKE)
    for pair, letter in _SEQUENCES:
        plain = plain.replace(pair, letter)
    return plain


def has_compatibility_characters(name: str) -> bool:
    """Return whether the name has other forms of ordinary characters, such as ｐ, ﬁ or ①."""
    return unicodedata.normalize("NFKC", name) != unicodedata.normalize("NFC", name)


def mixed_word(slug: str) -> str | None:
    """Return a word that mixes alphabets with look-alike letters, such as Latin and Cyrillic."""
    return next((word for word in slug.split("-") if len(_alphabets(word)) > 1), None)


def _alphabets(word: str) -> set[str]:
    """Return the alphabets of a word, only those with letters that look like those of others."""
    if word.isascii():
        return set()
    names = (unicodedata.name(letter, "").partition(" ")[0].lower() for letter in word if letter.isalpha())
    return _confusables().keys() & set(names)


def _ascii_like(name: str) -> str:
    """Replace letters by the ASCII letters that they look like, as far as there are any."""
    # Also before compatibility forms are folded: ϲ looks like c, but is folded to a sigma.
    folded = unicodedata.normalize("NFKC", name.lower().translate(_letters())).casefold()
    return "".join(map(_without_mark, unicodedata.normalize("NFKD", folded))).translate(_letters())


def _without_mark(character: str) -> str:
    """Return the character, a digit of any script as ASCII, and nothing for marks and invisible characters."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or INVISIBLE.match(character):
        return ""
    digit = unicodedata.decimal(character, None)
    return character if digit is None else str(digit)


@cache
def _confusables() -> dict[str, dict[str, str]]:
    """Return letters by alphabet and by the ASCII letters that they look like."""
    return tomllib.loads((files("assay.accounts.names") / "confusables.toml").read_text(encoding="utf-8"))


@cache
def _letters() -> dict[int, int | str]:
    """Return the ASCII letters of each confusable letter, for `str.translate`."""
    own = {ord(each): ascii_ for table in _confusables().values() for ascii_, alike in table.items() for each in alike}
    return {**LOOKALIKES, **own}
