"""Tiers: one function derives them, and nothing else writes one down."""

import re
from pathlib import Path

import assay

SOURCE = Path(assay.__file__).parent
# Where a tier is looked at, not given: the colours of badges, and what installers are told.
READERS = {"web/skills/badge.py"}


def test_a_tier_is_derived_in_one_place_only() -> None:
    """G45: no writer has a tier of its own, by name or as a word."""
    named = re.compile(r"(?<!Trust)\bTier\.(SCANNED|VERIFIED|CERTIFIED)\b|[\"'](SCANNED|VERIFIED)[\"']")
    found = {
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        if "examples" not in file.parts and named.search(file.read_text())
    }
    assert found - READERS == {"certify/tier.py", "model/skill.py"}
