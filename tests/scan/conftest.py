"""The rules on both engines, made once a run: building the fast one takes seconds."""

from dataclasses import replace

import pytest

from assay.scan.engine import best_engine
from assay.scan.matcher import RegexEngine
from assay.scan.ruleset import Ruleset, load_ruleset


@pytest.fixture(scope="session")
def ruleset() -> Ruleset:
    """The shipped rules on the best engine there is."""
    shipped = load_ruleset()
    return replace(shipped, engine=best_engine(shipped.patterns))


@pytest.fixture(scope="session")
def plain_ruleset() -> Ruleset:
    """The shipped rules on Python's own regular expressions."""
    shipped = load_ruleset()
    return replace(shipped, engine=RegexEngine(shipped.patterns))
