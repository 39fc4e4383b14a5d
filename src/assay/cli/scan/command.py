"""`assay scan`: scan skills on this machine as the registry would, for authors and continuous integration."""

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from assay.cli.scan.arguments import find_skills
from assay.cli.scan.document import scan_document
from assay.cli.scan.outcome import FailOn, Scan
from assay.cli.scan.processes import examine_all
from assay.cli.scan.rulesets import RulesetFolder
from assay.cli.scan.sarif import scan_log
from assay.cli.scan.skill import Failed, Found, Result
from assay.cli.scan.table import show_scan
from assay.cli.ui.exits import Exit
from assay.cli.ui.progress import a_bar
from assay.cli.ui.terminal import NO_WIDTH, open_console, print_json, say
from assay.fetch.limits import Limits
from assay.model.errors import Invalid
from assay.scan.ruleset import Ruleset
from assay.scan_pool.rule_folder import read_ruleset


class Format(StrEnum):
    """How results are written."""

    TABLE = "table"
    JSON = "json"
    SARIF = "sarif"


def scan(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH|ARCHIVE|URL",
            help="A skill's folder or SKILL.md, a folder that holds skills, a .zip, .tar.gz or .tgz,"
            " or the URL of a repository on GitHub or an accepted git host, or of a folder in one.",
        ),
    ],
    form: Annotated[
        Format, typer.Option("--format", metavar="table|json|sarif", help="How results are written; default: table.")
    ] = Format.TABLE,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Write them to this file, and show a table all the same."),
    ] = None,
    fail_on: Annotated[
        FailOn,
        typer.Option(
            "--fail-on",
            metavar="LINE",
            help="From where on the exit code is 1: a verdict, concerns (default) or fail; any finding of a severity,"
            " critical, high, medium, low or info; or never.",
        ),
    ] = FailOn.CONCERNS,
    ruleset: RulesetFolder = None,
) -> None:
    """Scan skills on this machine, as the registry would, without one.

    Each folder with a SKILL.md is a skill, and everything in it is scanned. Nothing is executed, sent or kept.

    Exit codes; of several, the smallest counts:
    0  nothing at or above the line
    1  something at or above the line
    2  an argument, a ruleset or a setting is wrong, or there is no skill in it
    3  there is no such repository
    5  GitHub does not answer
    7  a skill could not be scanned
    """
    try:
        raise typer.Exit(_scan(what, form, output, fail_on, ruleset))
    except KeyboardInterrupt:
        raise typer.Exit(Exit.INTERRUPTED) from None


def _scan(arguments: list[str], form: Format, output: Path | None, fail_on: FailOn, folder: Path | None) -> Exit:
    if output is not None and (output.is_dir() or not output.absolute().parent.is_dir()):
        raise Invalid(f"--output must be a file in a folder that exists, not {str(output)!r}.")
    rules = read_ruleset(folder)
    found = find_skills(arguments, Limits())
    if found.passed_over:
        say(f"Not searched for skills, as packages are installed there: {', '.join(found.passed_over)}.")
    done = Scan(rules, fail_on, _results(found.skills, rules, folder))
    _write(done, form, output)
    for each in done.failed:
        say(f"assay: {each.where}: {each.message}")
    return done.exit


def _results(skills: Sequence[Found | Failed], rules: Ruleset, folder: Path | None) -> tuple[Result, ...]:
    """In the order of the skills; a bar shows how far it is, where somebody looks at a terminal."""
    readable = [each for each in skills if isinstance(each, Found)]
    examined: dict[str, Result] = {}
    with a_bar(open_console(stderr=True), "Scanning", len(readable)) as advance:
        for skill, result in zip(readable, examine_all(readable, rules, folder), strict=True):
            examined[skill.where] = result
            advance(1)
    return tuple(examined[each.where] if isinstance(each, Found) else each for each in skills)


def _write(done: Scan, form: Format, output: Path | None) -> None:
    if output is not None:
        _write_file(done, form, output)
    if output is not None or form is Format.TABLE:
        show_scan(open_console(), done)
    else:
        print_json(_document(done, form))


def _write_file(done: Scan, form: Format, output: Path) -> None:
    try:
        with output.open("w", encoding="utf-8") as file:
            if form is Format.TABLE:
                show_scan(Console(file=file, markup=False, highlight=False, emoji=False, width=NO_WIDTH), done)
            else:
                print(json.dumps(_document(done, form), indent=2), file=file)
    except OSError as problem:
        raise Invalid(f"{str(output)!r} cannot be written: {problem.strerror}.") from None


def _document(done: Scan, form: Format) -> Any:
    return scan_log(done) if form is Format.SARIF else scan_document(done)
