"""The bundled rules, together with custom rules from a folder."""

import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from assay.model.errors import Invalid
from assay.scan.pattern import Pattern
from assay.scan.rule import Rule
from assay.scan.ruleset import VOCABULARY, Ruleset, load_ruleset, parse_ruleset
from assay.scan_pool.saved_engine import engine_problem


def read_ruleset(folder: Path | None) -> Ruleset:
    """Return the bundled rules and those of the folder. Raises `Invalid`, naming file and rule, if one is malformed."""
    if folder is None:
        return load_ruleset()
    bundled_folder = resources.files("assay.scan").joinpath("rules")
    bundled = {each.name: each.read_text("utf-8") for each in bundled_folder.iterdir() if each.name.endswith(".toml")}
    custom = _custom_files(folder)
    _reject_reused_ids(bundled, custom)
    file_of = {rule_id: name for name, text in custom.items() for rule_id in _ids(name, text)}
    if VOCABULARY in custom:
        # The bundled rules need their own lists.
        custom[VOCABULARY] = f"{bundled[VOCABULARY]}\n{custom[VOCABULARY]}"
    ruleset = parse_ruleset(bundled | custom)
    for rule in ruleset.rules:
        if rule.id in file_of and (problem := _problem_with(rule)):
            raise Invalid(f"{file_of[rule.id]}: rule {rule.id}: {problem}", code="invalid_rule")
    return ruleset


def custom_rule_ids(folder: Path) -> set[str]:
    return {rule_id for name, text in _custom_files(folder).items() for rule_id in _ids(name, text)}


def _problem_with(rule: Rule) -> str | None:
    """Return the reason why a custom rule cannot be searched for. The bundled rules are covered by tests."""
    if rule.raw:
        return _raw_problem(rule)
    for text in (*rule.patterns, *rule.together_with, *rule.lowered_by, *rule.not_if):
        try:
            Pattern(text).regex  # noqa: B018 - compiles the pattern
        except Invalid as error:
            return error.message
    if rule.in_comments:
        return None
    searched = (Pattern(text) for text in (*rule.patterns, *rule.together_with))
    return next((f"{reason}: {each.text}" for each in searched if (reason := engine_problem(each))), None)


def _raw_problem(rule: Rule) -> str | None:
    try:
        rule.raw_patterns  # noqa: B018 - compiles the patterns
    except re.error as error:
        return f"Not a regular expression ({error})"
    return None


def _reject_reused_ids(bundled: Mapping[str, str], custom: Mapping[str, str]) -> None:
    """Raise `Invalid` if a custom rule reuses an id. Bundled rules can be replaced only as a whole file."""
    remaining = {name: text for name, text in bundled.items() if name not in custom}
    taken = {rule_id: name for name, text in remaining.items() for rule_id in _ids(name, text)}
    for name, text in custom.items():
        for rule_id in _ids(name, text):
            if rule_id in taken:
                where = "above" if taken[rule_id] == name else f"in {taken[rule_id]}"
                raise Invalid(f"{name}: rule {rule_id}: This id is already used {where}.", code="invalid_rule")
            taken[rule_id] = name


def _custom_files(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        raise Invalid(f"There is no rule folder {str(folder)!r}.")
    files = {each.name: _text(each) for each in sorted(folder.glob("*.toml"))}
    if not files:
        raise Invalid(f"The folder {str(folder)!r} contains no rules: no file name ends in .toml.")
    return files


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{file.name}: The file cannot be read: {error}", code="invalid_rule") from None


def _ids(name: str, text: str) -> list[str]:
    """Return the ids in a file as written. Other errors in its rules are reported when they are parsed."""
    try:
        rules = tomllib.loads(text).get("rule", [])
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"{name}: {error}", code="invalid_rule") from None
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise Invalid(f"{name}: Rules must be written as [[rule]] tables.", code="invalid_rule")
    return [str(rule["id"]) for rule in rules if "id" in rule]
