"""A saved engine: what Hyperscan made of a ruleset, kept in a folder, so that only the first process waits for it.

Whoever adds rules of their own does not wait again: theirs are made beside those that ship, in an instant.
"""

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from assay.scan.match.joined_engine import JoinedEngine
from assay.scan.match.matcher import Engine
from assay.scan.pattern import Pattern
from assay.scan.ruleset import Ruleset, load_ruleset

# Of rulesets that somebody tries there may be many; what is missing is made again.
MOST_KEPT = 20
# More patterns than this are not made in an instant.
MOST_BESIDE = 100


def user_cache_folder() -> Path:
    """Where a user's programs keep what they can make again."""
    return Path.home() / ".cache" / "assay"


def with_saved_engine(ruleset: Ruleset, folder: Path, *, wait: bool = True) -> Ruleset:
    """The same rules on the engine that is kept in the folder. If there is none, it is made and kept, which takes
    seconds; without `wait`, the ruleset is returned as it is.
    """
    if not has_engine():
        return ruleset
    import hyperscan  # noqa: PLC0415 - there may be none

    from assay.scan.match.hyperscan_engine import HyperscanEngine  # noqa: PLC0415 - there may be none

    added = _added(ruleset)
    if added is not None:
        shipped = with_saved_engine(load_ruleset(), folder, wait=wait).engine
        return ruleset if shipped is None else ruleset.on(_beside(shipped, added, ruleset))
    kept = kept_in(ruleset, folder)
    # A file that is damaged, or was made on another kind of machine, is none.
    with suppress(OSError, hyperscan.HyperscanError):
        return ruleset.on(HyperscanEngine.load(kept.read_bytes()))
    if not wait:
        return ruleset
    engine = HyperscanEngine.compile(ruleset.patterns)
    # Whoever cannot keep it makes it again the next time.
    with suppress(OSError):
        _keep(kept, engine.save())
    return ruleset.on(engine)


def has_engine() -> bool:
    """Whether there is an engine on this platform whose making takes long."""
    return find_spec("hyperscan") is not None


def engine_problem(pattern: Pattern) -> str | None:
    """Why the engine of this platform cannot search for a pattern, if it cannot."""
    if not has_engine():
        return None
    import hyperscan  # noqa: PLC0415 - there may be none

    from assay.scan.match.hyperscan_engine import HyperscanEngine  # noqa: PLC0415 - there may be none

    try:
        HyperscanEngine.compile([pattern])
    except hyperscan.HyperscanError as problem:
        return str(problem)
    return None


def kept_in(ruleset: Ruleset, folder: Path) -> Path:
    """The file in which the engine of these rules is kept, if it is; or that of those that they are added to."""
    if _added(ruleset) is not None:
        ruleset = load_ruleset()
    import hyperscan  # noqa: PLC0415 - there may be none

    release = hyperscan.__version__.encode()  # type: ignore[attr-defined]  # its stubs do not know it
    spelled = b"\0".join((release, *map(_searched, ruleset.patterns)))
    return folder / f"rules-{hashlib.sha256(spelled).hexdigest()[:32]}.hs"


def _added(ruleset: Ruleset) -> list[Pattern] | None:
    """The few patterns that a ruleset has besides those that ship; None if it is those, or is another."""
    if ruleset.patterns == load_ruleset().patterns:
        return None
    shipped = set(map(_searched, load_ruleset().patterns))
    added = [pattern for pattern in ruleset.patterns if _searched(pattern) not in shipped]
    is_most = len(shipped.intersection(map(_searched, ruleset.patterns))) > len(shipped) // 2
    return added if is_most and len(added) <= MOST_BESIDE else None


def _beside(shipped: Engine, added: Sequence[Pattern], ruleset: Ruleset) -> Engine:
    from assay.scan.match.hyperscan_engine import HyperscanEngine  # noqa: PLC0415 - there may be none

    numbers: dict[bytes, list[int]] = {}
    for number, pattern in enumerate(ruleset.patterns):
        numbers.setdefault(_searched(pattern), []).append(number)
    parts = [(shipped, _renumbered(load_ruleset().patterns, numbers))]
    if added:
        parts.append((HyperscanEngine.compile(added), _renumbered(added, numbers)))
    return JoinedEngine(parts)


def _renumbered(patterns: Sequence[Pattern], wanted: Mapping[bytes, list[int]]) -> dict[int, list[int]]:
    """Of several that are searched for alike, the last tells of all."""
    last = {_searched(pattern): number for number, pattern in enumerate(patterns)}
    return {number: wanted.get(search, []) for search, number in last.items()}


def _searched(pattern: Pattern) -> bytes:
    """All that the engine depends on: what is searched for, and whether one end is enough."""
    return (b"?" if pattern.is_probe else b"*") + pattern.loose


def _keep(file: Path, content: bytes) -> None:
    """Write a file as a whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as draft:
        draft.write(content)
    Path(draft.name).replace(file)
    by_age = sorted(file.parent.glob("rules-*.hs"), key=lambda each: each.stat().st_mtime)
    for old in by_age[:-MOST_KEPT]:
        old.unlink(missing_ok=True)
