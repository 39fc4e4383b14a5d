"""The states and their transitions, as data."""

from itertools import pairwise

from assay.model.ids import new_id
from assay.model.submission import (
    ACTIVE,
    MEANING,
    REFUSED,
    STATE_GROUPS,
    TRANSITIONS,
    State,
    group_of,
)


def test_every_state_has_transitions_a_meaning_and_a_category() -> None:
    assert set(TRANSITIONS) == set(MEANING) == set(State)
    grouped = [state for states in STATE_GROUPS.values() for state in states]
    assert sorted(grouped) == sorted(State)
    assert all(state in STATE_GROUPS[group_of(state)] for state in State)


def test_every_state_can_be_reached_and_left() -> None:
    assert all(TRANSITIONS[state] for state in State)
    assert set().union(*TRANSITIONS.values()) == set(State)


def test_published_is_left_only_for_rescan_or_block() -> None:
    """G4."""
    assert TRANSITIONS[State.PUBLISHED] == {State.RECEIVED, State.BLOCKED}
    assert not ACTIVE & REFUSED


def test_ids_sort_by_time_and_cannot_be_guessed() -> None:
    """G81: version 7, 74 random bits."""
    ids = [new_id() for _ in range(2000)]
    assert len(set(ids)) == 2000
    assert all(each.version == 7 and each.variant == "specified in RFC 4122" for each in ids)
    moments = [each.int >> 80 for each in ids]
    assert all(earlier <= later for earlier, later in pairwise(moments))
