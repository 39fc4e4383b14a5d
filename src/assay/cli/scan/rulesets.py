"""The ruleset that a command uses, and how it is started."""

from pathlib import Path
from typing import Annotated

import typer

from assay.scan.match.matcher import RegexEngine
from assay.scan.ruleset import Ruleset
from assay.scan_pool.saved_engine import user_cache_folder, with_saved_engine

RulesetFolder = Annotated[
    Path | None,
    typer.Option(
        "--ruleset",
        metavar="FOLDER",
        help="Rules of your own (*.toml) beside those that ship; a file of the same name takes the place of theirs.",
    ),
]


def started(ruleset: Ruleset, *, quickly: bool) -> Ruleset:
    """The same rules on the fast engine; or, for a few skills and if the fast one would first have to be made, on one
    that is slower and needs no seconds to start.
    """
    fast = with_saved_engine(ruleset, user_cache_folder(), wait=not quickly)
    return fast if fast.engine else ruleset.on(RegexEngine(ruleset.patterns))
