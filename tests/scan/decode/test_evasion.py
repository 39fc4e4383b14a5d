"""Evasion: what a critical rule finds, it or another still finds when the same is said in another way.

Letters and spaces are dressed up, words broken up, texts encoded, and put where nobody looks; `evasions.py` says for
which kinds of text each of these keeps the meaning.
"""

import pytest

from assay.scan.ruleset import Ruleset
from tests.support.scan.evasions import EVASIONS, Tried, share, try_evasions

# A little less than was measured, so that a rule can be sharpened without asking here.
LEAST_BY_RULE = 0.95
LEAST_CAUGHT = 0.97


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


def test_no_evasion_hides_anything_critical_entirely(tried: list[Tried]) -> None:
    assert {(one.evasion, one.rule_id) for one in tried if not one.seen} == set()
