"""`assay rules show`."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console

from assay.cli.scan.rulesets import RulesetFolder
from assay.cli.ui.terminal import cell, open_console, print_line
from assay.model.errors import NotFound
from assay.scan.rule import Rule
from assay.scan.ruleset import Ruleset
from assay.scan_pool.rule_folder import read_ruleset


def show(
    rule_id: Annotated[str, typer.Argument(metavar="ID", help="Id of a rule, or one that it replaces.")],
    folder: RulesetFolder = None,
) -> None:
    """Show everything about a rule: what it looks for and why, what to do, and a specimen of each kind."""
    console = open_console()
    for number, rule in enumerate(rules_called(rule_id, read_ruleset(folder))):
        if number:
            console.print()
        _show(console, rule)


def rules_called(rule_id: str, ruleset: Ruleset) -> list[Rule]:
    """The rule of this id, or all that replace it; NotFound if there is none."""
    wanted = rule_id.casefold()
    exact = [rule for rule in ruleset.rules if rule.id.casefold() == wanted]
    found = exact or [rule for rule in ruleset.rules if wanted in map(str.casefold, rule.replaces)]
    if not found:
        raise NotFound(f"There is no rule {rule_id!r}, and none that replaces it: see `assay rules list`.")
    return found


def _show(console: Console, rule: Rule) -> None:
    print_line(console, cell(rule.id, "bold"), cell(rule.title, "bold"))
    for label, value in _facts(rule):
        print_line(console, f"  {label:<11}", value)
    for label, specimen, times in (("bad", rule.bad, rule.specimen_times), ("benign", rule.benign, 1)):
        written = f", {times:,} times below itself" if times > 1 else ""
        print_line(console, f"  {label} specimen, {rule.specimen_file}{written}:")
        for line in specimen.strip("\n").split("\n"):
            print_line(console, f"    {line}")


def _facts(rule: Rule) -> Iterator[tuple[str, str]]:
    yield "family", rule.family
    yield "severity", rule.severity
    yield "confidence", f"{rule.confidence:g}" + "".join(f", {each:g} in {where}" for where, each in _elsewhere(rule))
    yield "reads", f"structure: {rule.check}" if rule.check else rule.applies_to
    yield "why", " ".join(rule.rationale.split())
    yield "fix", " ".join(rule.remediation.split())
    if rule.references:
        yield "references", ", ".join(rule.references)
    if rule.replaces:
        yield "replaces", ", ".join(rule.replaces)


def _elsewhere(rule: Rule) -> list[tuple[str, float]]:
    return sorted((str(context), confidence) for context, confidence in rule.confidence_in.items())
