"""The rules on both engines, built once per run because compiling takes seconds."""

from dataclasses import replace

import pytest

from assay.scan.match.engine import RegexEngine
from assay.scan.ruleset import Ruleset, load_ruleset
from assay.scan_pool.saved_engine import user_cache_folder, with_saved_engine


@pytest.fixture(scope="session")
def ruleset() -> Ruleset:
    """Return the shipped rules on the best available engine."""
    return with_saved_engine(load_ruleset(), user_cache_folder())


@pytest.fixture(scope="session")
def plain_ruleset() -> Ruleset:
    """Return the shipped rules on Python's regular expressions."""
    shipped = load_ruleset()
    return replace(shipped, engine=RegexEngine(shipped.patterns))
