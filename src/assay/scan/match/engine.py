"""The choice of the engine: Hyperscan where its wheel is installed, Python's regular expressions elsewhere."""

from collections.abc import Sequence
from importlib.util import find_spec

from assay.scan.match.matcher import Engine, RegexEngine
from assay.scan.pattern import Pattern


def best_engine(patterns: Sequence[Pattern]) -> Engine:
    """The fastest engine on this platform."""
    if find_spec("hyperscan") is None:
        return RegexEngine(patterns)
    from assay.scan.match.hyperscan_engine import HyperscanEngine  # noqa: PLC0415 - there may be none

    return HyperscanEngine.compile(patterns)
