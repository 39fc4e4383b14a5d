"""Text diffs: correct for all texts, in bounded time."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.serve.versions.text_diff import MAX_EDITS, compare_texts

TEXTS = st.lists(st.sampled_from("abc"), max_size=25).map(lambda lines: "".join(f"{line}\n" for line in lines))


def applied(before: str, patch: str) -> str:
    """Apply a patch to a text."""
    lines, result, at = before.splitlines(), [], 0
    for line in patch.splitlines():
        if line.startswith("@@"):
            start, size = map(int, line.split()[1][1:].split(","))
            start = start - 1 if size else start
            result += lines[at:start]
            at = start
        elif line[0] == "+":
            result.append(line[1:])
        else:
            assert lines[at] == line[1:]
            result += [lines[at]] if line[0] == " " else []
            at += 1
    return "".join(f"{line}\n" for line in [*result, *lines[at:]])


@given(before=TEXTS, after=TEXTS)
def test_patch_transforms_one_text_into_the_other(before: str, after: str) -> None:
    found = compare_texts(before, after)
    assert applied(before, found.patch) == after
    assert (found.patch == "") == (before == after)
    assert found.additions - found.deletions == after.count("\n") - before.count("\n")


def test_change_has_three_lines_of_context() -> None:
    before = "".join(f"{number}\n" for number in range(1, 21))
    found = compare_texts(before, before.replace("10\n", "ten\n"))
    assert found.patch == "@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"
    assert (found.additions, found.deletions) == (1, 1)


@pytest.mark.parametrize("size", [MAX_EDITS // 2, 50_000])
def test_very_different_texts_are_replaced_whole(size: int) -> None:
    before = "".join(f"{number % 7}\n" for number in range(size))
    after = "".join(f"{number % 5}\n" for number in range(size))
    started = process_time()
    found = compare_texts(before, after)
    assert process_time() - started < 10
    assert applied(before, found.patch) == after
