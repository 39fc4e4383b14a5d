"""Passwords: only hashes, each with its own salt and parameters."""

import pytest

from assay.accounts.passwords import USUAL, Cost, hash_password, is_password
from assay.model.errors import Invalid

CHEAP = Cost(n=2, r=1, p=1)


def test_a_hash_knows_its_password_and_nothing_else() -> None:
    """Two hashes of one password differ; a change of a letter, or no hash at all, is no match."""
    first, second = hash_password("correct horse", CHEAP), hash_password("correct horse", CHEAP)
    assert first != second
    assert "correct" not in first
    assert is_password("correct horse", first)
    assert is_password("correct horse", second)
    for wrong in ("correct horsf", "correct horse ", "", "Correct horse"):
        assert not is_password(wrong, first)
    assert not is_password("correct horse", None)


def test_the_cost_travels_with_the_hash() -> None:
    """A later release may make guessing harder without shutting anybody out; today it is scrypt of 32 MiB."""
    assert hash_password("correct horse", CHEAP).startswith("scrypt$2$1$1$")
    usual = hash_password("correct horse")
    assert usual.startswith("scrypt$32768$8$3$")
    assert is_password("correct horse", usual)
    assert (USUAL.n * USUAL.r * 128) == 32 * 1024 * 1024


def test_the_same_characters_are_the_same_password() -> None:
    """One keyboard sends ü as one code point, another as two."""
    assert is_password("Passwort für mich", hash_password("Passwort fu\u0308r mich", CHEAP))


@pytest.mark.parametrize("password", ["", "elevenchars", "x" * 1025])
def test_too_short_and_too_long_are_refused(password: str) -> None:
    """At least twelve characters; and not so many that hashing them is an attack."""
    with pytest.raises(Invalid):
        hash_password(password, CHEAP)


def test_a_password_is_not_cut() -> None:
    """What comes after the longest password counts as well."""
    stored = hash_password("x" * 1024, CHEAP)
    assert is_password("x" * 1024, stored)
    assert not is_password("x" * 1025, stored)
