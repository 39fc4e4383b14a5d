"""A line diff with bounded work for any input."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Texts with more differing lines are shown as completely replaced.
MAX_EDITS = 400
CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Edit:
    """A line with its sign: unchanged (` `), removed (`-`) or added (`+`)."""

    sign: str
    line: str


@dataclass(frozen=True, slots=True)
class TextDiff:
    """The hunks of a unified diff without file names, and the numbers of added and removed lines."""

    patch: str
    additions: int
    deletions: int


def compare_texts(before: str, after: str) -> TextDiff:
    edits = list(_edits(before.splitlines(), after.splitlines()))
    signs = [edit.sign for edit in edits]
    return TextDiff("".join(_hunks(edits)), signs.count("+"), signs.count("-"))


def _edits(old: Sequence[str], new: Sequence[str]) -> Iterator[Edit]:
    """Skip the common prefix and suffix, and compare the rest."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    yield from (Edit(" ", line) for line in old[:start])
    yield from _middle(old[start : len(old) - end], new[start : len(new) - end])
    yield from (Edit(" ", line) for line in old[len(old) - end :])


def _middle(old: Sequence[str], new: Sequence[str]) -> list[Edit]:
    """Return the shortest edit script (Myers 1986), or a complete replacement if it exceeds MAX_EDITS."""
    trace = _trace(old, new)
    if trace is None:
        return [*(Edit("-", line) for line in old), *(Edit("+", line) for line in new)]
    edits: list[Edit] = []
    x, y = len(old), len(new)
    for steps in range(len(trace) - 1, -1, -1):
        reached = trace[steps]
        diagonal = x - y
        came_down = diagonal == -steps or (
            diagonal != steps and reached.get(diagonal - 1, -1) < reached.get(diagonal + 1, -1)
        )
        before = diagonal + 1 if came_down else diagonal - 1
        start_x = reached.get(before, 0)
        start_y = start_x - before
        while x > max(start_x, 0) and y > max(start_y, 0):
            x, y = x - 1, y - 1
            edits.append(Edit(" ", old[x]))
        if steps and came_down:
            y -= 1
            edits.append(Edit("+", new[y]))
        elif steps:
            x -= 1
            edits.append(Edit("-", old[x]))
    return edits[::-1]


def _trace(old: Sequence[str], new: Sequence[str]) -> list[dict[int, int]] | None:
    """Return the furthest x on each diagonal before each number of edits; None beyond MAX_EDITS."""
    reached = {1: 0}
    trace = []
    for steps in range(min(len(old) + len(new), MAX_EDITS) + 1):
        trace.append(dict(reached))
        for diagonal in range(-steps, steps + 1, 2):
            goes_down = diagonal == -steps or (
                diagonal != steps and reached.get(diagonal - 1, -1) < reached.get(diagonal + 1, -1)
            )
            x = reached.get(diagonal + 1, 0) if goes_down else reached.get(diagonal - 1, 0) + 1
            y = x - diagonal
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            reached[diagonal] = x
            if x >= len(old) and y >= len(new):
                return trace
    return None


def _hunks(edits: Sequence[Edit]) -> Iterator[str]:
    """Yield hunks with CONTEXT lines, in unified format."""
    changed = [number for number, edit in enumerate(edits) if edit.sign != " "]
    spans: list[list[int]] = []
    for number in changed:
        low, high = max(0, number - CONTEXT), min(len(edits), number + CONTEXT + 1)
        if spans and low <= spans[-1][1]:
            spans[-1][1] = high
        else:
            spans.append([low, high])
    for low, high in spans:
        old_start = 1 + sum(edit.sign != "+" for edit in edits[:low])
        new_start = 1 + sum(edit.sign != "-" for edit in edits[:low])
        old_size = sum(edit.sign != "+" for edit in edits[low:high])
        new_size = sum(edit.sign != "-" for edit in edits[low:high])
        old_at, new_at = (at if size else at - 1 for at, size in ((old_start, old_size), (new_start, new_size)))
        yield f"@@ -{old_at},{old_size} +{new_at},{new_size} @@\n"
        yield from (f"{edit.sign}{edit.line}\n" for edit in edits[low:high])
