"""Near misses: names that people take for another one, by a typo, a look-alike letter or a variation of its parts."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from assay.accounts.names.skeleton import skeleton
from assay.scan.checks.lookalike import is_one_edit_away

# In shorter names, one changed letter makes another word. A changed first letter is noticed, except in long names.
MIN_COMPARED, MIN_FIRST_CHANGED = 5, 7
_SEPARATORS = re.compile(r"[-_.\s]+")
# Between these, the order of the parts has a meaning: `text-to-speech`.
_PREPOSITIONS = frozenset({"to", "from", "into", "for", "with", "without", "by", "of", "on", "in", "vs", "over", "2"})
# A version at the end: `pdf2`, `pdf-2`, `pdf-v2`.
_VERSION = re.compile(r"(?<=[^\W\d_])(?:[-_.]?v?\d+)+$")
_DIGIT = re.compile(r"\d")


class Resemblance(Enum):
    """Why a name can be taken for another; the value completes the sentence "X …"."""

    LOOKS = "looks like"
    VARIES = "is a variation of"
    TYPO = "is one typo away from"


@dataclass(frozen=True, slots=True)
class KnownName:
    """A name that others must not imitate: the `shown` form for messages, and the namespaces of its owners."""

    name: str
    shown: str
    owners: frozenset[str] = frozenset()


def resemblance(name: str, other: str) -> Resemblance | None:
    """Return how two different names resemble each other; None for equal names. Symmetric."""
    if name == other:
        return None
    if skeleton(name) == skeleton(other):
        return Resemblance.LOOKS
    if _variations(name) & _variations(other) and not _is_other_version(name, other):
        return Resemblance.VARIES
    return Resemblance.TYPO if _is_typo(name, other) else None


class NameIndex:
    """Known names by everything that near misses of them have in common, so that a look-up compares few of them."""

    def __init__(self, known: Iterable[KnownName]) -> None:
        self._known: Mapping[str, KnownName] = {each.name: each for each in known}
        self._by_trait: dict[tuple[str, str], list[KnownName]] = {}
        for each in self._known.values():
            for trait in _traits(each.name):
                self._by_trait.setdefault(trait, []).append(each)

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def find_resembled(self, name: str, own: Collection[str] = ()) -> tuple[KnownName, Resemblance] | None:
        """Return the first known name that this one resembles, except those of its `own` namespaces.

        A name that is itself known, or whose variation the caller owns, resembles no other.
        """
        if name in self._known:
            return None
        found: dict[str, tuple[KnownName, Resemblance]] = {}
        for trait in _traits(name):
            for known in self._by_trait.get(trait, ()):
                how = resemblance(name, known.name)
                if how is not None:
                    found[known.name] = known, how
        if any(not known.owners.isdisjoint(own) for known, _ in found.values()):
            return None
        return min(found.values(), key=lambda each: (list(Resemblance).index(each[1]), each[0].name), default=None)


def _traits(name: str) -> Iterator[tuple[str, str]]:
    """Yield what at least one near miss of a name shares with it."""
    yield "skeleton", skeleton(name)
    for variation in _variations(name):
        yield "variation", variation
    if len(name) >= MIN_COMPARED - 1:
        yield "deletion", name
        for at in range(len(name)):
            yield "deletion", name[:at] + name[at + 1 :]


def _variations(name: str) -> frozenset[str]:
    """Return the forms of a name without separators, plurals, order of its parts and final version; none if short."""
    forms = (form for base in {name, _VERSION.sub("", name)} for form in _forms(base))
    return frozenset(form for form in forms if len(form) >= MIN_COMPARED)


def _forms(name: str) -> Iterator[str]:
    parts = [part for part in _SEPARATORS.split(name) if part]
    yield _singular("".join(parts))
    if len(parts) > 1 and _PREPOSITIONS.isdisjoint(parts):
        yield " ".join(sorted(map(_singular, parts)))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _is_other_version(name: str, other: str) -> bool:
    """Return whether both names state different versions, as `angular-17` and `angular-18`."""
    versions = _VERSION.search(name), _VERSION.search(other)
    return all(versions) and _DIGIT.findall(name) != _DIGIT.findall(other)


def _is_typo(name: str, other: str) -> bool:
    """Return whether the names are one edit apart, other than the number in them."""
    if min(len(name), len(other)) < MIN_COMPARED or not is_one_edit_away(name, other):
        return False
    if len(name) != len(other):
        return True
    is_noticed = len(name) < MIN_FIRST_CHANGED and name[1:] == other[1:]
    return not is_noticed and _DIGIT.sub("0", name) != _DIGIT.sub("0", other)
