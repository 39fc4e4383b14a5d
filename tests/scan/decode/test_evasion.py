"""Evasion: what a critical rule finds is still found when it is obfuscated. `evasions.py` defines which
transformation preserves the meaning of which kind of text.
"""

import pytest

from assay.scan.ruleset import Ruleset
from tests.support.scan.evasions import EVASIONS, Tried, share, try_evasions

# Slightly below the measured value, so that rules can be tightened.
LEAST_BY_RULE = 0.95
LEAST_CAUGHT = 0.97


@pytest.fixture(scope="module")
def tried(ruleset: Ruleset) -> list[Tried]:
    return try_evasions(ruleset)


def test_evasions_cover_the_specimens(tried: list[Tried]) -> None:
    assert {evasion.name for evasion in EVASIONS} == {one.evasion for one in tried}
    assert len(EVASIONS) == len({evasion.name for evasion in EVASIONS}) >= 20


def test_most_evasions_are_found_by_the_same_rule(tried: list[Tried]) -> None:
    assert share(tried, lambda one: one.by_rule) >= LEAST_BY_RULE


def test_most_evasions_are_found(tried: list[Tried]) -> None:
    assert share(tried, lambda one: one.caught) >= LEAST_CAUGHT


def test_no_evasion_hides_a_critical_finding_entirely(tried: list[Tried]) -> None:
    assert {(one.evasion, one.rule_id) for one in tried if not one.seen} == set()
