"""A saved engine: what Hyperscan made of a ruleset, kept in a folder, so that only the first process waits for it."""

import hashlib
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from assay.scan.pattern import Pattern
from assay.scan.ruleset import Ruleset

# Of rulesets that somebody tries there may be many; what is missing is made again.
MOST_KEPT = 20


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

    from assay.scan.hyperscan_engine import HyperscanEngine  # noqa: PLC0415 - there may be none

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

    from assay.scan.hyperscan_engine import HyperscanEngine  # noqa: PLC0415 - there may be none

    try:
        HyperscanEngine.compile([pattern])
    except hyperscan.HyperscanError as problem:
        return str(problem)
    return None


def kept_in(ruleset: Ruleset, folder: Path) -> Path:
    """The file in which the engine of these rules is kept, if it is."""
    import hyperscan  # noqa: PLC0415 - there may be none

    release = hyperscan.__version__.encode()  # type: ignore[attr-defined]  # its stubs do not know it
    spelled = b"\0".join((release, *map(_searched, ruleset.patterns)))
    return folder / f"rules-{hashlib.sha256(spelled).hexdigest()[:32]}.hs"


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
