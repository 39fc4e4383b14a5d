"""The states and their arrows, as data."""

from itertools import pairwise

from assay.model.ids import new_id
from assay.model.submission import (
    ACTIVE,
    CATEGORIES,
    MEANING,
    REFUSED,
    TRANSITIONS,
    State,
    category_of,
)


def test_every_state_has_arrows_a_meaning_and_one_category() -> None:
    """Nothing is undefined, and nothing is counted twice."""
    assert set(TRANSITIONS) == set(MEANING) == set(State)
    grouped = [state for states in CATEGORIES.values() for state in states]
    assert sorted(grouped) == sorted(State)
    assert all(state in CATEGORIES[category_of(state)] for state in State)


def test_every_state_can_be_reached_and_left() -> None:
    """No dead end that only a database console could open again."""
    assert all(TRANSITIONS[state] for state in State)
    assert set().union(*TRANSITIONS.values()) == set(State)


def test_published_is_left_only_for_a_new_look_or_the_blocklist() -> None:
    """G4: no arrow leads from PUBLISHED to a refusal."""
    assert TRANSITIONS[State.PUBLISHED] == {State.RECEIVED, State.BLOCKED}
    assert not ACTIVE & REFUSED


def test_ids_sort_by_time_and_cannot_be_guessed() -> None:
    """G81: version 7, 74 random bits."""
    ids = [new_id() for _ in range(2000)]
    assert len(set(ids)) == 2000
    assert all(each.version == 7 and each.variant == "specified in RFC 4122" for each in ids)
    moments = [each.int >> 80 for each in ids]
    assert all(earlier <= later for earlier, later in pairwise(moments))
