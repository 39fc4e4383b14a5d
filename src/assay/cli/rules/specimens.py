"""`assay rules test`: every rule must find its bad specimen and leave its benign one alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.scan.rulesets import started
from assay.cli.ui.exits import Exit
from assay.cli.ui.terminal import cell, open_console, print_line
from assay.model.finding import Finding
from assay.model.source import Source
from assay.scan.rule import Rule
from assay.scan.ruleset import Ruleset
from assay.scan.scan import scan_source
from assay.scan_pool.rule_folder import own_rule_ids, read_ruleset


def test(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="FOLDER", help="A folder with rules of your own; default: the rules that ship."),
    ] = None,
) -> None:
    """Try every rule on its own specimens: it must find the bad one and leave the benign one alone.

    Exit codes:
    0  all rules do
    1  a rule does not
    2  a rule cannot be read
    """
    ruleset = started(read_ruleset(folder), quickly=True)
    wanted = own_rule_ids(folder) if folder else {rule.id for rule in ruleset.rules}
    rules = [rule for rule in ruleset.rules if rule.id in wanted]
    problems = [(rule, problem) for rule in rules for problem in problems_of(rule, ruleset)]
    console = open_console()
    for rule, problem in problems:
        print_line(console, cell(rule.id, "red"), problem)
    failed = len({rule.id for rule, _ in problems})
    print_line(console, f"{len(rules):,} rules tested: {len(rules) - failed:,} hold, {failed:,} do not.")
    raise typer.Exit(Exit.REFUSED if problems else Exit.DONE)


def problems_of(rule: Rule, ruleset: Ruleset) -> Iterator[str]:
    """What a rule does not do with its specimens, in words."""
    try:
        bad, benign = (_findings(rule, content, ruleset) for content in (rule.bad_content, rule.benign_content))
    except (LookupError, UnicodeEncodeError):
        yield f"has a specimen that cannot be written as {rule.specimen_encoding!r}."
        return
    if not bad:
        yield f"does not find its bad specimen in {rule.specimen_file}."
    for each in benign:
        yield f"finds its benign specimen at {each.file}:{each.line}: {each.excerpt or each.message}"


def _findings(rule: Rule, content: bytes, ruleset: Ruleset) -> list[Finding]:
    source = Source({rule.specimen_file: content}, commit="")
    return [finding for finding in scan_source(source, ruleset).findings if finding.rule_id == rule.id]
