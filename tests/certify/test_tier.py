"""Tiers are derived by one function."""

import re
from pathlib import Path

import assay

SOURCE = Path(assay.__file__).parent
# Modules that read a tier: badge colours and security summaries.
READERS = {"web/skills/badges.py"}


def test_tier_is_derived_in_one_place() -> None:
    """G45."""
    named = re.compile(r"(?<!Trust)\bTier\.(SCANNED|VERIFIED|CERTIFIED)\b|[\"'](SCANNED|VERIFIED)[\"']")
    found = {
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        if "examples" not in file.parts and named.search(file.read_text())
    }
    assert found - READERS == {"certify/certify.py", "model/skill.py"}
