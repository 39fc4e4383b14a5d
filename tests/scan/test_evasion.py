"""Evasion: what a critical rule finds, it or another still finds when the same is said in another way.

Letters and spaces are dressed up, words broken up, texts encoded, and put where nobody looks; `evasions.py` says for
which kinds of text each of these keeps the meaning.
"""

from collections import Counter

import pytest

from assay.scan.ruleset import Ruleset
from tests.scan.evasions import EVASIONS, Tried, share, try_evasions

# A little less than was measured, so that a rule can be sharpened without asking here.
LEAST_BY_RULE = 0.95
LEAST_CAUGHT = 0.97

# What is not seen at all today, and why: rules by evasion. Whoever closes a gap takes it out of here.
KNOWN_GAPS: dict[str, str] = {
    # These read scripts and nothing else: in a text they are an example.
    "fence": "OB-008 TA-002",
    "fence called an example": "OB-008 TA-002",
    # Two lines below each other are what it looks for, and these put other signs between them or join them.
    "list item": "EX-010",
    "table cell": "EX-010",
    # Patterns that stop at the end of a line, because the next one says something else.
    "wrapped lines": "AT-005 DC-011 EX-010",
    # What they look for has quotation marks and braces between the words, which stay where they are.
    "letter by letter": "AT-005 DC-011",
    # The parts are put together, and the call around them is not the one that is looked for.
    "strings glued together": "AT-003 EX-011",
}


@pytest.fixture(scope="module")
def tried(ruleset: Ruleset) -> list[Tried]:
    return try_evasions(ruleset)


def test_there_are_many_evasions_and_each_fits_some_specimen(tried: list[Tried]) -> None:
    assert {evasion.name for evasion in EVASIONS} == {one.evasion for one in tried}
    assert len(EVASIONS) == len({evasion.name for evasion in EVASIONS}) >= 20


def test_most_evasions_are_seen_through_by_the_rule_itself(tried: list[Tried]) -> None:
    assert share(tried, lambda one: one.by_rule) >= LEAST_BY_RULE


def test_most_evasions_are_caught(tried: list[Tried]) -> None:
    assert share(tried, lambda one: one.caught) >= LEAST_CAUGHT


def test_nothing_critical_is_hidden_entirely_but_for_known_gaps(tried: list[Tried]) -> None:
    unseen = {(one.evasion, one.rule_id) for one in tried if not one.seen}
    known = {(evasion, rule_id) for evasion, rule_ids in KNOWN_GAPS.items() for rule_id in rule_ids.split()}
    assert unseen - known == set(), "new gaps"
    assert known - unseen == set(), "gaps that are closed: take them out of the table"


def test_no_gap_is_listed_twice() -> None:
    for evasion, rule_ids in KNOWN_GAPS.items():
        assert max(Counter(rule_ids.split()).values()) == 1, evasion
