"""A search: one pattern, tried only near the words without which it cannot match."""

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import Annotated

import msgspec
from msgspec import Meta

from assay.model.errors import Invalid
from assay.scan.view import View

# A match may begin and end this many lines away from the word it is near to.
REACH_LINES = 3

# With escapes, character classes and group prefixes blotted out, a pattern shows its repeats and nothing else.
_NOT_A_REPEAT = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[^)]")
_UNBOUNDED = re.compile(r"[*+]|\{\d*,\}|\)\{")
_FLAGS = re.IGNORECASE | re.MULTILINE


class Search(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A pattern, and lower-case words of which every match contains one; without such words it is tried everywhere."""

    find: Annotated[str, Meta(min_length=1)]
    near: tuple[Annotated[str, Meta(min_length=1, pattern="^[^A-Z]*$")], ...] = ()

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled `find`. Raises `Invalid` if hostile text could make it stall."""
        return compile_bounded(self.find)

    def matches(self, view: View) -> Iterator[re.Match[str]]:
        """All matches in a view, in order."""
        if not self.near:
            return self.pattern.finditer(view.text)
        return chain.from_iterable(
            self.pattern.finditer(view.text, begin, end) for begin, end in _stretches(view, self.near)
        )


def compile_bounded(pattern: str) -> re.Pattern[str]:
    """Compile a pattern. Every repeat must have an upper bound and no group may be repeated: so time stays linear."""
    if _UNBOUNDED.search(_NOT_A_REPEAT.sub("·", pattern)):
        raise Invalid(f"every repeat must be bounded and no group repeated: {pattern}")
    try:
        return re.compile(pattern, _FLAGS)
    except re.error as error:
        raise Invalid(f"not a regular expression ({error}): {pattern}") from error


def _stretches(view: View, words: tuple[str, ...]) -> list[tuple[int, int]]:
    """The lines around all these words, as disjoint stretches of text in order."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(chain.from_iterable(_around(view, word) for word in words)):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged


def _around(view: View, word: str) -> Iterator[tuple[int, int]]:
    position = view.lowered.find(word)
    while position >= 0:
        begin, end = view.bounds_at(position)
        yield view.widened(begin, end, REACH_LINES)
        # Another occurrence on the same line would give the same stretch.
        position = view.lowered.find(word, end)
