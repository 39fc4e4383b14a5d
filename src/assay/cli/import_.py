"""`assay import`: what other registries leave behind."""

from pathlib import Path
from typing import Annotated

import typer

from assay import settings
from assay.app.app import open_app
from assay.cli.process.stopping import run_command
from assay.cli.ui.exits import Exit
from assay.cli.ui.logs import set_up_logs
from assay.cli.ui.options import AsJson
from assay.cli.ui.terminal import print_json, say, visible
from assay.model.errors import Invalid
from assay.settings import Settings
from assay.submit.dump import read_dump
from assay.submit.import_dump import BroughtIn, bring_in

SHOWN = 20
app = typer.Typer(no_args_is_help=True, help="Bring in what other registries leave behind.")


@app.callback()
def importing() -> None:
    """Bring in what other registries leave behind."""


@app.command("kv")
def kv(
    dump: Annotated[Path, typer.Argument(metavar="DUMP.jsonl", help='Lines of {"key": "skill:…", "value": {…}}.')],
    as_json: AsJson = False,
) -> None:
    """Submit every skill that a dump of a key-value store names, except what is listed here already.

    Run it where the database can be reached. It may be run again: what it did before is skipped.

    Exit codes:
    0  every line about a skill is listed, submitted or known
    2  some lines are wrong; the others were brought in
    """
    set_up_logs("import")
    done = run_command(_bring_in(settings.read(), dump))
    if as_json:
        print_json(_document(done))
    else:
        _tell(done)
    raise typer.Exit(Exit.INVALID if done.errors else Exit.DONE)


async def _bring_in(chosen: Settings, dump: Path) -> BroughtIn:
    try:
        with dump.open("rb") as lines:
            async with open_app(chosen, application="assay import") as app:
                skills = read_dump(lines, chosen.github_web_url)
                return await bring_in(app.store, app.finder, skills, by="assay import")
    except (FileNotFoundError, IsADirectoryError, PermissionError) as problem:
        raise Invalid(f"{dump} cannot be read: {problem.strerror}.", code="bad_dump") from None


def _tell(done: BroughtIn) -> None:
    for each in done.problems[:SHOWN]:
        say(f"line {each.line}: {visible(each.problem.message)}")
    if done.errors > SHOWN:
        say(f"… and {done.errors - SHOWN:,} more; --json shows them.")
    print(
        f"{done.backfilled:,} submitted, {done.listed:,} listed already, {done.known:,} submitted before, "
        f"{done.errors:,} lines wrong."
    )


def _document(done: BroughtIn) -> dict[str, object]:
    return {
        "lines": done.lines,
        "prismaBackfilled": done.backfilled,
        "alreadyListed": done.listed,
        "alreadySubmitted": done.known,
        "errors": done.errors,
        "problems": [
            {"line": each.line, "code": each.problem.code, "detail": each.problem.message} for each in done.problems
        ],
    }
