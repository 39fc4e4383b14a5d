"""The rules that ship with Assay, and those of a folder beside them."""

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
    """The rules that ship, and those of the folder. Raises `Invalid`, naming file and rule, if one is malformed."""
    if folder is None:
        return load_ruleset()
    shipped = resources.files("assay.scan").joinpath("rules")
    texts = {each.name: each.read_text("utf-8") for each in shipped.iterdir() if each.name.endswith(".toml")}
    own = _own_files(folder)
    _refuse_known_ids(texts, own)
    homes = {rule_id: name for name, text in own.items() for rule_id in _ids(name, text)}
    if VOCABULARY in own:
        # The rules that ship need their own lists, whatever others there are.
        own[VOCABULARY] = f"{texts[VOCABULARY]}\n{own[VOCABULARY]}"
    ruleset = parse_ruleset(texts | own)
    for rule in ruleset.rules:
        if rule.id in homes and (problem := _problem_with(rule)):
            raise Invalid(f"{homes[rule.id]}: rule {rule.id}: {problem}", code="invalid_rule")
    return ruleset


def own_rule_ids(folder: Path) -> set[str]:
    """The ids of the rules in a folder."""
    return {rule_id for name, text in _own_files(folder).items() for rule_id in _ids(name, text)}


def _problem_with(rule: Rule) -> str | None:
    """What keeps a rule from being searched for. The rules that ship are known to be well, and are many."""
    if rule.raw:
        return _raw_problem(rule)
    for text in (*rule.patterns, *rule.together_with, *rule.lowered_by, *rule.not_if):
        try:
            Pattern(text).regex  # noqa: B018 - compiled when it is first needed
        except Invalid as problem:
            return problem.message
    if rule.in_comments:
        return None
    searched = (Pattern(text) for text in (*rule.patterns, *rule.together_with))
    return next((f"{said}: {each.text}" for each in searched if (said := engine_problem(each))), None)


def _raw_problem(rule: Rule) -> str | None:
    try:
        rule.raw_patterns  # noqa: B018 - compiled when they are first needed
    except re.error as problem:
        return f"not a regular expression ({problem})"
    return None


def _refuse_known_ids(shipped: Mapping[str, str], own: Mapping[str, str]) -> None:
    """A rule takes the place of one that ships only with its whole file."""
    kept = {name: text for name, text in shipped.items() if name not in own}
    taken = {rule_id: name for name, text in kept.items() for rule_id in _ids(name, text)}
    for name, text in own.items():
        for rule_id in _ids(name, text):
            if rule_id in taken:
                where = "above" if taken[rule_id] == name else f"in {taken[rule_id]}"
                raise Invalid(f"{name}: rule {rule_id}: this id is taken {where}", code="invalid_rule")
            taken[rule_id] = name


def _own_files(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        raise Invalid(f"There is no such folder of rules: {str(folder)!r}.")
    files = {each.name: _text(each) for each in sorted(folder.glob("*.toml"))}
    if not files:
        raise Invalid(f"{str(folder)!r} holds no rules: no file in it ends in .toml.")
    return files


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise Invalid(f"{file.name}: cannot be read: {problem}", code="invalid_rule") from None


def _ids(name: str, text: str) -> list[str]:
    """The ids in a file as they are written; what else is wrong with its rules is told when they are parsed."""
    try:
        rules = tomllib.loads(text).get("rule", [])
    except tomllib.TOMLDecodeError as problem:
        raise Invalid(f"{name}: {problem}", code="invalid_rule") from None
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise Invalid(f"{name}: rules are written as [[rule]]", code="invalid_rule")
    return [str(rule["id"]) for rule in rules if "id" in rule]
