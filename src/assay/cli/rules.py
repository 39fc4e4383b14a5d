"""`assay rules`: list, show and test the scanner's rules."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from assay.cli.scan.rulesets import RulesetFolder, start_ruleset
from assay.cli.ui.exit_codes import Exit
from assay.cli.ui.terminal import cell, make_table, open_console, print_json, print_line
from assay.model.errors import NotFound
from assay.model.finding import Finding
from assay.model.source import Source
from assay.scan.rule import Rule
from assay.scan.ruleset import Ruleset
from assay.scan.scan import scan_source
from assay.scan_pool.rule_folder import custom_rule_ids, read_ruleset


class RuleJson(msgspec.Struct, rename="camel"):
    """A rule, without its patterns."""

    id: str
    family: str
    title: str
    severity: str
    confidence: float
    applies_to: str
    rationale: str
    remediation: str
    references: tuple[str, ...]
    replaces: tuple[str, ...]


def rule_document(rule: Rule) -> RuleJson:
    return RuleJson(
        id=rule.id,
        family=rule.family,
        title=rule.title,
        severity=rule.severity,
        confidence=rule.confidence,
        applies_to=rule.applies_to,
        rationale=rule.rationale.strip(),
        remediation=rule.remediation.strip(),
        references=rule.references,
        replaces=rule.replaces,
    )


class RulesFormat(StrEnum):
    """The supported output formats."""

    TABLE = "table"
    JSON = "json"


def list_rules(
    form: Annotated[
        RulesFormat, typer.Option("--format", metavar="table|json", help="Output format; default: table.")
    ] = RulesFormat.TABLE,
    folder: RulesetFolder = None,
) -> None:
    """List all rules, sorted by id."""
    ruleset = read_ruleset(folder)
    if form is RulesFormat.JSON:
        rules = [msgspec.to_builtins(rule_document(rule)) for rule in ruleset.rules]
        print_json({"ruleset": ruleset.version, "rules": rules})
    else:
        _print_table(ruleset)


def _print_table(ruleset: Ruleset) -> None:
    console = open_console()
    table = make_table("Rule", "Severity", "Family", "Title", whole=["Rule", "Severity", "Family"])
    for rule in ruleset.rules:
        table.add_row(*map(cell, (rule.id, rule.severity, rule.family, rule.title)))
    console.print(table)
    print_line(console, f"{len(ruleset.rules):,} rules, {ruleset.version}")


def show(
    rule_id: Annotated[str, typer.Argument(metavar="ID", help="Id of a rule, or of one that it replaces.")],
    folder: RulesetFolder = None,
) -> None:
    """Show a rule with its rationale, its remediation and both of its specimens."""
    console = open_console()
    for number, rule in enumerate(find_rules(rule_id, read_ruleset(folder))):
        if number:
            console.print()
        _print_rule(console, rule)


def find_rules(rule_id: str, ruleset: Ruleset) -> list[Rule]:
    """Return the rule with this id, or all rules that replace it. Raises NotFound."""
    folded = rule_id.casefold()
    exact = [rule for rule in ruleset.rules if rule.id.casefold() == folded]
    found = exact or [rule for rule in ruleset.rules if folded in map(str.casefold, rule.replaces)]
    if not found:
        raise NotFound(f"There is no rule {rule_id!r}, and no rule replaces it: see `assay rules list`.")
    return found


def _print_rule(console: Console, rule: Rule) -> None:
    print_line(console, cell(rule.id, "bold"), cell(rule.title, "bold"))
    for label, value in _rule_fields(rule):
        print_line(console, f"  {label:<11}", value)
    for label, specimen, times in (("bad", rule.bad, rule.specimen_times), ("benign", rule.benign, 1)):
        repeated = f", repeated {times:,} times" if times > 1 else ""
        print_line(console, f"  {label} specimen, {rule.specimen_file}{repeated}:")
        for line in specimen.strip("\n").split("\n"):
            print_line(console, f"    {line}")


def _rule_fields(rule: Rule) -> Iterator[tuple[str, str]]:
    yield "family", rule.family
    yield "severity", rule.severity
    yield (
        "confidence",
        f"{rule.confidence:g}" + "".join(f", {each:g} in {where}" for where, each in _confidence_by_region(rule)),
    )
    yield "reads", f"structure: {rule.check}" if rule.check else rule.applies_to
    yield "why", " ".join(rule.rationale.split())
    yield "fix", " ".join(rule.remediation.split())
    if rule.references:
        yield "references", ", ".join(rule.references)
    if rule.replaces:
        yield "replaces", ", ".join(rule.replaces)


def _confidence_by_region(rule: Rule) -> list[tuple[str, float]]:
    return sorted((str(context), confidence) for context, confidence in rule.confidence_in.items())


def test(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="FOLDER", help="Folder with your own rules; default: the built-in rules."),
    ] = None,
) -> None:
    """Test every rule on its own specimens: it must match the bad one and not the benign one.

    Exit codes:
    0  all rules pass
    1  a rule fails
    2  a rule cannot be read
    """
    ruleset = start_ruleset(read_ruleset(folder), fast_start=True)
    tested = custom_rule_ids(folder) if folder else {rule.id for rule in ruleset.rules}
    rules = [rule for rule in ruleset.rules if rule.id in tested]
    problems = [(rule, problem) for rule in rules for problem in specimen_problems(rule, ruleset)]
    console = open_console()
    for rule, problem in problems:
        print_line(console, cell(rule.id, "red"), problem)
    failed = len({rule.id for rule, _ in problems})
    print_line(console, f"{len(rules):,} rules tested: {len(rules) - failed:,} passed, {failed:,} failed.")
    raise typer.Exit(Exit.REFUSED if problems else Exit.DONE)


def specimen_problems(rule: Rule, ruleset: Ruleset) -> Iterator[str]:
    """Yield a message for each specimen on which the rule fails."""
    try:
        bad, benign = (_findings(rule, content, ruleset) for content in (rule.bad_content, rule.benign_content))
    except (LookupError, UnicodeEncodeError):
        yield f"has a specimen that cannot be encoded as {rule.specimen_encoding!r}."
        return
    if not bad:
        yield f"does not match its bad specimen in {rule.specimen_file}."
    for each in benign:
        yield f"matches its benign specimen at {each.file}:{each.line}: {each.excerpt or each.message}"


def _findings(rule: Rule, content: bytes, ruleset: Ruleset) -> list[Finding]:
    source = Source({rule.specimen_file: content}, commit="")
    return [finding for finding in scan_source(source, ruleset).findings if finding.rule_id == rule.id]


app = typer.Typer(no_args_is_help=True, help="List, show and test the scanner's rules.")
app.command("list")(list_rules)
for verb in (show, test):
    app.command()(verb)
