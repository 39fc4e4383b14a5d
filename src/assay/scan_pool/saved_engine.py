"""Saved engines: compiled Hyperscan databases in a cache folder, so that only the first process compiles a ruleset.

Custom rules do not cause a new compilation: they are compiled separately, which is fast, and joined with the saved
engine of the bundled rules.
"""

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from assay.scan.match.engine import Engine, JoinedEngine
from assay.scan.pattern import Pattern
from assay.scan.ruleset import Ruleset, load_ruleset

# The maximum number of saved engines. The oldest are removed and compiled again when needed.
MAX_SAVED_ENGINES = 20
# The maximum number of custom patterns to compile separately; more would take too long.
MAX_ADDED_PATTERNS = 100


def user_cache_folder() -> Path:
    """Return the user's cache folder for Assay."""
    return Path.home() / ".cache" / "assay"


def with_saved_engine(ruleset: Ruleset, folder: Path, *, wait: bool = True) -> Ruleset:
    """Return the rules on the engine saved in the folder. If there is none, compile and save it, which takes seconds;
    without `wait`, return the ruleset unchanged instead.
    """
    if not has_hyperscan():
        return ruleset
    import hyperscan  # noqa: PLC0415 - optional dependency

    from assay.scan.match.hyperscan_engine import HyperscanEngine  # noqa: PLC0415 - optional dependency

    added = _added(ruleset)
    if added is not None:
        bundled = with_saved_engine(load_ruleset(), folder, wait=wait).engine
        return ruleset if bundled is None else ruleset.with_engine(_with_added(bundled, added, ruleset))
    path = saved_engine_path(ruleset, folder)
    # Ignore a file that is damaged or was saved on another kind of machine.
    with suppress(OSError, hyperscan.HyperscanError):
        return ruleset.with_engine(HyperscanEngine.load(path.read_bytes()))
    if not wait:
        return ruleset
    engine = HyperscanEngine.compile(ruleset.patterns)
    # If it cannot be saved, the next process compiles it again.
    with suppress(OSError):
        _save(path, engine.save())
    return ruleset.with_engine(engine)


def has_hyperscan() -> bool:
    """Return true if Hyperscan, whose compilation takes seconds, is installed."""
    return find_spec("hyperscan") is not None


def engine_problem(pattern: Pattern) -> str | None:
    """Return the reason why Hyperscan cannot search for a pattern, or None."""
    if not has_hyperscan():
        return None
    import hyperscan  # noqa: PLC0415 - optional dependency

    from assay.scan.match.hyperscan_engine import HyperscanEngine  # noqa: PLC0415 - optional dependency

    try:
        HyperscanEngine.compile([pattern])
    except hyperscan.HyperscanError as error:
        return str(error)
    return None


def saved_engine_path(ruleset: Ruleset, folder: Path) -> Path:
    """Return the path of the saved engine of these rules, or of the bundled rules if these only add to them."""
    if _added(ruleset) is not None:
        ruleset = load_ruleset()
    import hyperscan  # noqa: PLC0415 - optional dependency

    release = hyperscan.__version__.encode()  # type: ignore[attr-defined]  # missing in its stubs
    key = b"\0".join((release, *map(_engine_key, ruleset.patterns)))
    return folder / f"rules-{hashlib.sha256(key).hexdigest()[:32]}.hs"


def _added(ruleset: Ruleset) -> list[Pattern] | None:
    """Return the patterns that a ruleset adds to the bundled ones; None if it adds none or too many."""
    if ruleset.patterns == load_ruleset().patterns:
        return None
    bundled = set(map(_engine_key, load_ruleset().patterns))
    added = [pattern for pattern in ruleset.patterns if _engine_key(pattern) not in bundled]
    is_most = len(bundled.intersection(map(_engine_key, ruleset.patterns))) > len(bundled) // 2
    return added if is_most and len(added) <= MAX_ADDED_PATTERNS else None


def _with_added(bundled: Engine, added: Sequence[Pattern], ruleset: Ruleset) -> Engine:
    from assay.scan.match.hyperscan_engine import HyperscanEngine  # noqa: PLC0415 - optional dependency

    numbers: dict[bytes, list[int]] = {}
    for number, pattern in enumerate(ruleset.patterns):
        numbers.setdefault(_engine_key(pattern), []).append(number)
    parts = [(bundled, _renumbered(load_ruleset().patterns, numbers))]
    if added:
        parts.append((HyperscanEngine.compile(added), _renumbered(added, numbers)))
    return JoinedEngine(parts)


def _renumbered(patterns: Sequence[Pattern], numbers: Mapping[bytes, list[int]]) -> dict[int, list[int]]:
    """Map indexes of one engine to those of the ruleset. Of equal patterns, the last stands for all."""
    last = {_engine_key(pattern): number for number, pattern in enumerate(patterns)}
    return {number: numbers.get(search, []) for search, number in last.items()}


def _engine_key(pattern: Pattern) -> bytes:
    """Return everything that the compiled engine depends on: the expression, and whether one end is enough."""
    return (b"?" if pattern.is_probe else b"*") + pattern.loose


def _save(file: Path, content: bytes) -> None:
    """Write a file atomically, and remove the oldest ones."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as draft:
        draft.write(content)
    Path(draft.name).replace(file)
    by_age = sorted(file.parent.glob("rules-*.hs"), key=lambda each: each.stat().st_mtime)
    for old in by_age[:-MAX_SAVED_ENGINES]:
        old.unlink(missing_ok=True)
