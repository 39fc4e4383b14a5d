"""`assay rules list`."""

from enum import StrEnum
from typing import Annotated

import msgspec
import typer

from assay.cli.rules.document import rule_document
from assay.cli.scan.rulesets import RulesetFolder
from assay.cli.ui.terminal import a_table, cell, open_console, print_json, print_line
from assay.scan.ruleset import Ruleset
from assay.scan_pool.rule_folder import read_ruleset


class Format(StrEnum):
    """How rules are written."""

    TABLE = "table"
    JSON = "json"


def list_rules(
    form: Annotated[
        Format, typer.Option("--format", metavar="table|json", help="How rules are written; default: table.")
    ] = Format.TABLE,
    folder: RulesetFolder = None,
) -> None:
    """List all rules, in the order of their ids."""
    ruleset = read_ruleset(folder)
    if form is Format.JSON:
        rules = [msgspec.to_builtins(rule_document(rule)) for rule in ruleset.rules]
        print_json({"ruleset": ruleset.version, "rules": rules})
    else:
        _show(ruleset)


def _show(ruleset: Ruleset) -> None:
    console = open_console()
    table = a_table("Rule", "Severity", "Family", "Looks for", whole=["Rule", "Severity", "Family"])
    for rule in ruleset.rules:
        table.add_row(*map(cell, (rule.id, rule.severity, rule.family, rule.title)))
    console.print(table)
    print_line(console, f"{len(ruleset.rules):,} rules, {ruleset.version}")
