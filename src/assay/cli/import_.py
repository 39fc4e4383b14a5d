"""`assay import`: import skills from other registries."""

from pathlib import Path
from typing import Annotated

import typer

from assay import settings
from assay.app.app import open_app
from assay.cli.process.stopping import run_command
from assay.cli.ui.exit_codes import Exit
from assay.cli.ui.logs import configure_logs
from assay.cli.ui.options import AsJson
from assay.cli.ui.terminal import print_json, print_note, printable
from assay.model.errors import Invalid
from assay.settings import Settings
from assay.submit.import_dump import ImportSummary, import_dump, read_dump

MAX_SHOWN = 20
app = typer.Typer(no_args_is_help=True, help="Import skills from other registries.")


@app.callback()
def importing() -> None:
    """Import skills from other registries."""


@app.command("kv")
def kv(
    dump: Annotated[
        Path, typer.Argument(metavar="DUMP.jsonl", help='File with lines of {"key": "skill:…", "value": {…}}.')
    ],
    as_json: AsJson = False,
) -> None:
    """Submit every skill in a dump of a key-value store, except those already listed here.

    Requires access to the database. It can be repeated: skills that were submitted before are skipped.

    Exit codes:
    0  every skill in the dump is listed or submitted
    2  some lines are invalid; the others were imported
    """
    configure_logs("import")
    done = run_command(_import_dump(settings.read(), dump))
    if as_json:
        print_json(_document(done))
    else:
        _print(done)
    raise typer.Exit(Exit.INVALID if done.errors else Exit.DONE)


async def _import_dump(config: Settings, dump: Path) -> ImportSummary:
    try:
        with dump.open("rb") as lines:
            async with open_app(config, application="assay import") as app:
                skills = read_dump(lines, config.github_web_url)
                return await import_dump(app.store, app.finder, skills, by="assay import")
    except (FileNotFoundError, IsADirectoryError, PermissionError) as problem:
        raise Invalid(f"{dump} cannot be read: {problem.strerror}.", code="bad_dump") from None


def _print(done: ImportSummary) -> None:
    for each in done.problems[:MAX_SHOWN]:
        print_note(f"line {each.line}: {printable(each.problem.message)}")
    if done.errors > MAX_SHOWN:
        print_note(f"… and {done.errors - MAX_SHOWN:,} more; use --json to see all.")
    print(
        f"{done.backfilled:,} submitted, {done.listed:,} already listed, {done.known:,} already submitted, "
        f"{done.errors:,} invalid lines."
    )


def _document(done: ImportSummary) -> dict[str, object]:
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
