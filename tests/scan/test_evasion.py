"""Evasion: what a critical rule finds, it or another still finds when the same is said in another way.

Letters and spaces are dressed up, words broken up, texts encoded, and put where nobody looks; `evasions.py` says for
which kinds of text each of these keeps the meaning.
"""

from collections import Counter

import pytest

from assay.scan.ruleset import Ruleset
from tests.scan.evasions import EVASIONS, Tried, share, try_evasions

# A little less than was measured, so that a rule can be sharpened without asking here.
LEAST_BY_RULE = 0.89
LEAST_CAUGHT = 0.9

# What is not seen at all today, and why, as far as that is known. Whoever closes a gap takes it out of here.
KNOWN_GAPS: dict[str, str] = {
    # Gaps between words count against the bounds of a pattern, or a pattern insists on a single space.
    "extra spaces": "SC-001",
    "spaces and tabs": "EX-004",
    "tabs": "SC-001",
    "continued lines": "SC-001",
    # Patterns that stop at the end of a line.
    "wrapped lines": "AT-005 DC-011 EX-004 EX-010 PI-002 SE-004",
    "emphasis within words": "PI-002",
    # The spaces between words are closed with those between letters, or the words stay apart; not looked into further.
    "letter by letter": "AT-005 DC-002 DC-004 DC-011 EX-004 EX-010 OB-007 PI-002 PI-007 RA-002 SE-004",
    # PI-002, here and below: a text that was put together or decoded has no comments, and it looks nowhere else.
    "tags within words": "PI-002",
    "comments within words": "PI-002",
    "base64": "EX-010 PI-002",
    "hex": "PI-002",
    "unicode escapes": "DF-007 PI-002",
    "HTML entities throughout": "PI-002",
    # A piece ends where more than twelve plain characters, or one like "~", stand between two escapes.
    "URL-encoding": (
        "AT-005 CT-002 CT-004 CT-005 DF-007 EX-005 EX-006 EX-010 EX-011 EX-012 HO-004 HT-005 OB-005 PI-002 TA-005"
    ),
    "HTML entities": "PI-002",
    # What flows where is not traced in decoded text; and of a word of two letters no backslash is taken away.
    "hex escapes": "DF-002 DF-004",
    "octal escapes": "DF-002 DF-004",
    "quotes within words": "DF-002 DF-004",
    "backslash within words": "DF-001 DF-002 DF-004 DS-001",
    # Each line is turned with the code around it; why these are still not seen was not looked into.
    "reversed": (
        "DF-001 DF-002 DF-003 DF-004 DF-005 DS-001 EX-003 EX-008 HO-001 HO-003 OB-001 PR-003 PS-002 PS-003 "
        "RC-001 SC-001 SC-002 SC-004"
    ),
    "rot13": "DF-002 DF-004 PI-002",
    # Escapes such as `\n` stay, so that words begin with an n and scripts are not traced.
    "JSON string": (
        "AT-003 AT-005 CT-004 DC-006 DC-011 DF-002 DF-003 DF-004 DF-007 DR-002 DS-001 EX-006 EX-007 EX-009 "
        "EX-010 EX-011 OB-004 OB-008 PI-001 PI-002 RC-001"
    ),
    "Python comment": "PI-002",
    "Python docstring": "PI-002",
    "note in a here-document": "PI-002",
    # Not looked into.
    "strings glued together": "AT-003 EX-011",
    # Two lines below each other are what it looks for, and these put other signs between them.
    "list item": "EX-010",
    "table cell": "EX-010",
    # These read scripts and nothing else.
    "fence": "OB-008 TA-002",
    "fence called an example": "OB-008 TA-002",
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
