"""The `--ruleset` option, and the regular expression engine for a ruleset."""

from pathlib import Path
from typing import Annotated

import typer

from assay.scan.match.engine import RegexEngine
from assay.scan.ruleset import Ruleset
from assay.scan_pool.saved_engine import user_cache_folder, with_saved_engine

RulesetFolder = Annotated[
    Path | None,
    typer.Option(
        "--ruleset",
        metavar="FOLDER",
        help="Folder with your own rules (*.toml), used in addition to the built-in ones; a file with the name of a"
        " built-in file replaces it.",
    ),
]


def start_ruleset(ruleset: Ruleset, *, fast_start: bool) -> Ruleset:
    """Return the ruleset on the fast engine; with `fast_start`, on the slower one if the fast one is not compiled yet.

    Compiling the fast engine takes seconds; the result is cached for the user.
    """
    fast = with_saved_engine(ruleset, user_cache_folder(), wait=not fast_start)
    return fast if fast.engine else ruleset.with_engine(RegexEngine(ruleset.patterns))
