"""The rules on both engines, made once a run: building the fast one takes seconds."""

from dataclasses import replace

import pytest

from assay.scan.match.matcher import RegexEngine
from assay.scan.ruleset import Ruleset, load_ruleset
from assay.scan_pool.saved_engine import user_cache_folder, with_saved_engine


@pytest.fixture(scope="session")
def ruleset() -> Ruleset:
    """The shipped rules on the best engine there is."""
    return with_saved_engine(load_ruleset(), user_cache_folder())


@pytest.fixture(scope="session")
def plain_ruleset() -> Ruleset:
    """The shipped rules on Python's own regular expressions."""
    shipped = load_ruleset()
    return replace(shipped, engine=RegexEngine(shipped.patterns))
