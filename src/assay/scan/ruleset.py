"""The ruleset: all rules, read once from the TOML files of this package, and the version that names exactly them."""

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources

import msgspec

from assay.model.errors import Invalid
from assay.model.source import digest_of
from assay.scan.rule import Check, Rule, validate_rule


@dataclass(frozen=True, slots=True)
class Ruleset:
    """Rules in the order of their ids. Two rulesets with one version find the same things."""

    version: str
    rules: tuple[Rule, ...]

    @property
    def pattern_rules(self) -> tuple[Rule, ...]:
        """The rules that read text."""
        return tuple(rule for rule in self.rules if rule.check is None)

    def rule_for(self, check: Check) -> Rule:
        """The one rule that reports a check."""
        return next(rule for rule in self.rules if rule.check is check)


def load_ruleset() -> Ruleset:
    """Read the rules that ship with Assay. Raises `Invalid`, naming file and rule, if one is malformed."""
    folder = resources.files("assay.scan").joinpath("rules")
    return parse_ruleset(
        {entry.name: entry.read_text("utf-8") for entry in folder.iterdir() if entry.name.endswith(".toml")}
    )


def parse_ruleset(files: Mapping[str, str]) -> Ruleset:
    """The ruleset in these TOML texts by file name."""
    rules = [rule for name, text in sorted(files.items()) for rule in _parse_file(name, text)]
    _refuse_gaps(rules)
    return ruleset_of(rules)


def ruleset_of(rules: Iterable[Rule]) -> Ruleset:
    """A ruleset of these rules; its version is a digest over all their data."""
    ordered = tuple(sorted(rules, key=lambda rule: rule.id))
    return Ruleset(digest_of(msgspec.json.encode(ordered, order="deterministic")), ordered)


def _parse_file(name: str, text: str) -> list[Rule]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"{name}: {error}", code="invalid_rule") from error
    if set(data) != {"family", "rule"}:
        raise Invalid(f"{name}: needs exactly `family` and `[[rule]]`", code="invalid_rule")
    return [_parse_rule(name, data["family"], number, fields) for number, fields in enumerate(data["rule"], 1)]


def _parse_rule(name: str, family: object, number: int, fields: dict[str, object]) -> Rule:
    try:
        rule = msgspec.convert({"family": family, **fields}, Rule)
        validate_rule(rule)
    except (msgspec.ValidationError, Invalid) as error:
        where = fields.get("id", f"number {number}")
        raise Invalid(f"{name}: rule {where}: {error}", code="invalid_rule") from error
    return rule


def _refuse_gaps(rules: list[Rule]) -> None:
    repeated = [id_ for id_, count in Counter(rule.id for rule in rules).items() if count > 1]
    if repeated:
        raise Invalid(f"rule ids used twice: {', '.join(repeated)}", code="invalid_rule")
    checks = Counter(rule.check for rule in rules if rule.check)
    for check in Check:
        if checks[check] != 1:
            raise Invalid(f"check {check} needs exactly one rule, has {checks[check]}", code="invalid_rule")
