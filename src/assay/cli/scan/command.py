"""`assay scan`: scan local folders, archives and repositories with the registry's rules."""

import json
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from assay.cli.scan.archive import ARCHIVE_SUFFIXES, find_in_archive, is_archive
from assay.cli.scan.document import scan_document
from assay.cli.scan.folder import FoundSkills, find_in_folder
from assay.cli.scan.outcome import FailOn, ScanRun
from assay.cli.scan.processes import scan_all
from assay.cli.scan.rulesets import RulesetFolder
from assay.cli.scan.sarif import scan_log
from assay.cli.scan.skill import FailedSkill, FoundSkill, Result
from assay.cli.scan.table import show_scan
from assay.cli.skill_folders.walk import SKILL
from assay.cli.ui.exit_codes import Exit
from assay.cli.ui.progress import progress_bar
from assay.cli.ui.terminal import NO_WIDTH, open_console, print_json, print_note
from assay.fetch.limits import Limits
from assay.model.errors import Invalid
from assay.scan.ruleset import Ruleset
from assay.scan_pool.rule_folder import read_ruleset


class OutputFormat(StrEnum):
    """The supported output formats."""

    TABLE = "table"
    JSON = "json"
    SARIF = "sarif"


def scan(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH|ARCHIVE|URL",
            help="The folder or SKILL.md of a skill, a folder that contains skills, a .zip, .tar.gz or .tgz archive,"
            " or the URL of a repository (or of a folder in one) on GitHub or another accepted git host.",
        ),
    ],
    form: Annotated[
        OutputFormat,
        typer.Option("--format", metavar="table|json|sarif", help="Output format; default: table."),
    ] = OutputFormat.TABLE,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Write the results to this file, and still print a table."),
    ] = None,
    fail_on: Annotated[
        FailOn,
        typer.Option(
            "--fail-on",
            metavar="LINE",
            help="Exit with 1 from this threshold on: a verdict, concerns (default) or fail; any finding of a severity,"
            " critical, high, medium, low or info; or never.",
        ),
    ] = FailOn.CONCERNS,
    ruleset: RulesetFolder = None,
) -> None:
    """Scan skills on this machine without a registry.

    The scan applies the same rules and policy as a registry. Each folder with a SKILL.md is a skill, and every file in
    it is scanned. Nothing is executed, sent or stored.

    Example: assay scan ./skills --format sarif --output results.sarif

    Exit codes; if several apply, the smallest is used:
    0  no result reaches the threshold
    1  a result reaches the threshold
    2  an argument, a ruleset or a setting is invalid, or an argument contains no skill
    3  the repository does not exist
    5  GitHub is unavailable
    7  a skill could not be scanned
    """
    try:
        raise typer.Exit(_scan(what, form, output, fail_on, ruleset))
    except KeyboardInterrupt:
        raise typer.Exit(Exit.INTERRUPTED) from None


def _scan(arguments: list[str], form: OutputFormat, output: Path | None, fail_on: FailOn, folder: Path | None) -> Exit:
    if output is not None and (output.is_dir() or not output.absolute().parent.is_dir()):
        raise Invalid(f"--output must be a file in an existing folder, not {str(output)!r}.")
    rules = read_ruleset(folder)
    found = find_skills(arguments, Limits())
    if found.skipped:
        print_note(f"Skipped folders of installed packages: {', '.join(found.skipped)}.")
    done = ScanRun(rules, fail_on, _results(found.skills, rules, folder))
    _write(done, form, output)
    for each in done.failed:
        print_note(f"assay: {each.where}: {each.message}")
    return done.exit


def _results(skills: Sequence[FoundSkill | FailedSkill], rules: Ruleset, folder: Path | None) -> tuple[Result, ...]:
    """Return the results in the order of the skills, displaying the progress on a terminal."""
    readable = [each for each in skills if isinstance(each, FoundSkill)]
    scanned: dict[str, Result] = {}
    with progress_bar(open_console(stderr=True), "Scanning", len(readable)) as advance:
        for skill, result in zip(readable, scan_all(readable, rules, folder), strict=True):
            scanned[skill.where] = result
            advance(1)
    return tuple(scanned[each.where] if isinstance(each, FoundSkill) else each for each in skills)


def _write(done: ScanRun, form: OutputFormat, output: Path | None) -> None:
    if output is not None:
        _write_file(done, form, output)
    if output is not None or form is OutputFormat.TABLE:
        show_scan(open_console(), done)
    else:
        print_json(_document(done, form))


def _write_file(done: ScanRun, form: OutputFormat, output: Path) -> None:
    try:
        with output.open("w", encoding="utf-8") as file:
            if form is OutputFormat.TABLE:
                show_scan(Console(file=file, markup=False, highlight=False, emoji=False, width=NO_WIDTH), done)
            else:
                print(json.dumps(_document(done, form), indent=2), file=file)
    except OSError as problem:
        raise Invalid(f"{str(output)!r} cannot be written: {problem.strerror}.") from None


def _document(done: ScanRun, form: OutputFormat) -> Any:
    return scan_log(done) if form is OutputFormat.SARIF else scan_document(done)


def find_skills(arguments: Sequence[str], limits: Limits) -> FoundSkills:
    """Return the skills of all arguments, without duplicates. All arguments are checked before the network is used."""
    searches = [_search(argument, limits) for argument in arguments]
    skills: dict[str, FoundSkill | FailedSkill] = {}
    skipped: list[str] = []
    for search in searches:
        found = search()
        skills |= {each.where: each for each in found.skills}
        skipped += found.skipped
    return FoundSkills(tuple(skills.values()), tuple(skipped))


def _search(argument: str, limits: Limits) -> Callable[[], FoundSkills]:
    """Check an argument and return the function that finds its skills. Raises Invalid."""
    if "://" in argument:
        return _search_repository(argument, limits)
    path = _path(argument)
    if path.is_dir():
        return partial(find_in_folder, path, limits)
    if path.name == SKILL:
        return partial(find_in_folder, path.parent, limits, alone=True)
    if is_archive(path):
        return lambda: FoundSkills(tuple(find_in_archive(path, argument, limits)))
    raise Invalid(f"{argument!r} is neither a folder, a {SKILL} nor an archive ({', '.join(ARCHIVE_SUFFIXES)}).")


def _search_repository(url: str, limits: Limits) -> Callable[[], FoundSkills]:
    from assay.cli.scan.repository import find_in_repository, read_url  # noqa: PLC0415 - loads the network stack (1 s)

    repository = read_url(url)
    return lambda: FoundSkills(tuple(find_in_repository(repository, limits)))


def _path(argument: str) -> Path:
    try:
        path = Path(argument).expanduser()
        exists = path.exists()
    except (OSError, RuntimeError, ValueError):
        exists = False
    if not exists:
        raise Invalid(f"There is no file or folder {argument!r}; to scan a repository, pass its https:// URL.")
    return path
