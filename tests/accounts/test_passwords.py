"""Password hashes."""

import pytest

from assay.accounts.passwords import DEFAULT_COST, Cost, hash_password, verify_password
from assay.model.errors import Invalid

CHEAP = Cost(n=2, r=1, p=1)


def test_hash_matches_its_password_only() -> None:
    first, second = hash_password("correct horse", CHEAP), hash_password("correct horse", CHEAP)
    assert first != second
    assert "correct" not in first
    assert verify_password("correct horse", first)
    assert verify_password("correct horse", second)
    for wrong in ("correct horsf", "correct horse ", "", "Correct horse"):
        assert not verify_password(wrong, first)
    assert not verify_password("correct horse", None)


def test_cost_is_stored_with_the_hash() -> None:
    """scrypt with 32 MiB today."""
    assert hash_password("correct horse", CHEAP).startswith("scrypt$2$1$1$")
    usual = hash_password("correct horse")
    assert usual.startswith("scrypt$32768$8$3$")
    assert verify_password("correct horse", usual)
    assert (DEFAULT_COST.n * DEFAULT_COST.r * 128) == 32 * 1024 * 1024


def test_unicode_spellings_are_equal() -> None:
    assert verify_password("Passwort für mich", hash_password("Passwort fu\u0308r mich", CHEAP))


@pytest.mark.parametrize("password", ["", "elevenchars", "x" * 1025])
def test_length_limits(password: str) -> None:
    with pytest.raises(Invalid):
        hash_password(password, CHEAP)


def test_long_password_is_not_truncated() -> None:
    stored = hash_password("x" * 1024, CHEAP)
    assert verify_password("x" * 1024, stored)
    assert not verify_password("x" * 1025, stored)
