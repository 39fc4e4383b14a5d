"""What was typed, taken apart for the indexes."""

import re
from dataclasses import dataclass

from assay.model.naming import slug_of

# Kana and Han: every character counts as a word (`tables/skill_document.py`).
UNSEGMENTED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
TOKEN = re.compile(rf"[{UNSEGMENTED}]+|[^\W{UNSEGMENTED}]+")
# More are not looked up.
MOST_WORDS = 12
# Shorter beginnings of words are those of half the catalogue, and shorter parts have no trigram.
TRIGRAM = 3
TRIGRAMS = re.compile(rf"[^\W_]{{{TRIGRAM}}}")


@dataclass(frozen=True)
class Asked:
    """The same words as each index wants them."""

    wanted: str

    @property
    def tokens(self) -> list[str]:
        """The words, in lower case."""
        return TOKEN.findall(self.wanted)[:MOST_WORDS]

    @property
    def words(self) -> list[str]:
        """Each as a query: characters in a row, or a word; the last one perhaps unfinished."""
        written = [_in_a_row(token) for token in self.tokens]
        if written and len(self.tokens[-1]) >= TRIGRAM and not _is_unsegmented(self.tokens[-1]):
            written[-1] = f"{written[-1]}:*"
        return written

    @property
    def bare_words(self) -> list[str]:
        """The same, all of them finished."""
        return [_in_a_row(token) for token in self.tokens]

    @property
    def slug(self) -> str:
        """As the last part of a name."""
        return slug_of(self.wanted)

    @property
    def beginning(self) -> tuple[str, str] | None:
        """The beginning of a slug and the first one after it, if the last word is too short to be a beginning."""
        if not self.slug or not self.tokens or len(self.tokens[-1]) >= TRIGRAM:
            return None
        return self.slug, self.slug[:-1] + chr(ord(self.slug[-1]) + 1)

    @property
    def owner_and_name(self) -> tuple[str, str] | None:
        """If it may be a repository."""
        owner, slash, name = self.wanted.partition("/")
        return (owner, name) if slash and owner and name and "/" not in name else None

    @property
    def pattern(self) -> str:
        """As a part of a text."""
        return f"%{escape_like(self.wanted)}%"

    @property
    def has_trigram(self) -> bool:
        """Whether an index can look up such a part."""
        return TRIGRAMS.search(self.wanted) is not None

    @property
    def may_be_repository_part(self) -> bool:
        """Names of repositories have no spaces, and one slash."""
        return self.has_trigram and " " not in self.wanted and self.wanted.count("/") <= 1


def escape_like(words: str) -> str:
    """The words themselves, not as a pattern."""
    return re.sub(r"([\\%_])", r"\\\1", words)


def _is_unsegmented(token: str) -> bool:
    return re.match(f"[{UNSEGMENTED}]", token) is not None


def _in_a_row(token: str) -> str:
    return " <-> ".join(token) if _is_unsegmented(token) else token
