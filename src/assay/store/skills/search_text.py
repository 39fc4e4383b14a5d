"""Search queries, parsed for the indexes."""

import re
from dataclasses import dataclass

from assay.model.skill import slug_of

# Kana and Han: every character is a word (`tables/skill_document.py`).
UNSEGMENTED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
TOKEN = re.compile(rf"[{UNSEGMENTED}]+|[^\W{UNSEGMENTED}]+")
# Further words of a query are ignored.
MAX_WORDS = 12
# Shorter prefixes match half the catalogue, and shorter parts have no trigram.
TRIGRAM = 3
TRIGRAMS = re.compile(rf"[^\W_]{{{TRIGRAM}}}")


@dataclass(frozen=True)
class SearchQuery:
    """A search query, in the form that each index needs."""

    text: str

    @property
    def tokens(self) -> list[str]:
        return TOKEN.findall(self.text)[:MAX_WORDS]

    @property
    def words(self) -> list[str]:
        """Words as tsqueries: a phrase of characters, or a word. The last word may be a prefix."""
        written = [_as_phrase(token) for token in self.tokens]
        if written and len(self.tokens[-1]) >= TRIGRAM and not _is_unsegmented(self.tokens[-1]):
            written[-1] = f"{written[-1]}:*"
        return written

    @property
    def bare_words(self) -> list[str]:
        """Words as tsqueries, without a prefix."""
        return [_as_phrase(token) for token in self.tokens]

    @property
    def slug(self) -> str:
        return slug_of(self.text)

    @property
    def beginning(self) -> tuple[str, str] | None:
        """A slug prefix and its upper bound, if the last word is too short for a word prefix."""
        if not self.slug or not self.tokens or len(self.tokens[-1]) >= TRIGRAM:
            return None
        return self.slug, self.slug[:-1] + chr(ord(self.slug[-1]) + 1)

    @property
    def owner_and_name(self) -> tuple[str, str] | None:
        """Owner and name, if the query may be a repository."""
        owner, slash, name = self.text.partition("/")
        return (owner, name) if slash and owner and name and "/" not in name else None

    @property
    def pattern(self) -> str:
        """LIKE pattern for a part of a text."""
        return f"%{escape_like(self.text)}%"

    @property
    def has_trigram(self) -> bool:
        """True if the trigram index can look up the query."""
        return TRIGRAMS.search(self.text) is not None

    @property
    def may_be_repository_part(self) -> bool:
        """True if the query may be a part of `owner/name`: no spaces and at most one slash."""
        return self.has_trigram and " " not in self.text and self.text.count("/") <= 1


def escape_like(words: str) -> str:
    """Escape the wildcards of LIKE."""
    return re.sub(r"([\\%_])", r"\\\1", words)


def _is_unsegmented(token: str) -> bool:
    return re.match(f"[{UNSEGMENTED}]", token) is not None


def _as_phrase(token: str) -> str:
    return " <-> ".join(token) if _is_unsegmented(token) else token
