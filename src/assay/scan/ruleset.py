"""Rulesets: all rules, parsed from TOML, with a version derived from their content."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import resources

import msgspec

from assay.model.errors import Invalid
from assay.model.source import digest_of
from assay.scan.decode.disguises import ANYWHERE
from assay.scan.match.engine import Engine, best_engine
from assay.scan.match.matcher import Matcher
from assay.scan.pattern import Pattern
from assay.scan.rule import Check, Rule, validate_rule

# Named lists of patterns and words that several rules share.
VOCABULARY = "vocabulary.toml"
_TRACED = (
    ("traced_secrets", "traced_sends"),
    ("traced_unread", "traced_runs"),
    ("traced_fetched", "traced_evaluations"),
    ("traced_persistence", "traced_persistence"),
)
# In a pattern, "<@secret>" stands for any of the words that the vocabulary lists under that name.
_WORDS = re.compile(r"<@(\w{1,20})>")
Pair = tuple[tuple[str, ...], tuple[str, ...]]
Traced = tuple[Pair, ...]


@dataclass(frozen=True)
class Ruleset:
    """Rules ordered by id. Rulesets with equal versions give equal findings."""

    version: str
    rules: tuple[Rule, ...]
    # Pairs of pattern lists (sources, sinks). Flows are traced in programs where one pattern of each list matches.
    traced: Traced = ()
    engine: Engine | None = field(default=None, compare=False)

    @cached_property
    def pattern_rules(self) -> tuple[Rule, ...]:
        """The rules that match folded text."""
        return tuple(rule for rule in self.rules if rule.check is None and not rule.raw and not rule.in_comments)

    @cached_property
    def comment_rules(self) -> tuple[Rule, ...]:
        """The rules that match only comments. There is little such text, so they need no engine."""
        return tuple(rule for rule in self.rules if rule.in_comments)

    @cached_property
    def raw_rules(self) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if rule.raw)

    @cached_property
    def pattern_texts(self) -> tuple[str, ...]:
        """The distinct patterns of all rules."""
        texts = (text for rule in self.pattern_rules for text in (*rule.patterns, *rule.together_with))
        return tuple(dict.fromkeys((*texts, *(text for pair in self.traced for patterns in pair for text in patterns))))

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """All patterns, followed by the probes of the disguises that can occur in any file."""
        return (*(Pattern(text) for text in self.pattern_texts), *(disguise.probe for disguise in ANYWHERE))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The index of each pattern."""
        return {text: number for number, text in enumerate(self.pattern_texts)}

    @cached_property
    def matcher(self) -> Matcher:
        """The matcher for all patterns, on the fastest available engine."""
        return Matcher(self.patterns, self.engine or best_engine(self.patterns))

    def with_engine(self, engine: Engine) -> "Ruleset":
        """Return the same rules on another engine."""
        moved = replace(self, engine=engine)
        moved.__dict__["patterns"] = self.patterns
        return moved

    def rules_of(self, number: int) -> tuple[Rule, ...]:
        """Return the rules that use the pattern with this index."""
        return self._rules_by_number.get(number, ())

    @cached_property
    def _rules_by_number(self) -> dict[int, tuple[Rule, ...]]:
        rules: dict[int, tuple[Rule, ...]] = {}
        for rule in self.pattern_rules:
            for pattern in rule.patterns:
                number = self.numbers[pattern]
                rules[number] = (*rules.get(number, ()), rule)
        return rules

    def rule_for(self, check: Check) -> Rule:
        """Return the one rule that reports this check."""
        return next(rule for rule in self.rules if rule.check is check)


@cache
def load_ruleset() -> Ruleset:
    """Return the bundled rules, parsed once. Raises `Invalid`, naming file and rule, if a rule is malformed."""
    folder = resources.files("assay.scan").joinpath("rules")
    return parse_ruleset(
        {entry.name: entry.read_text("utf-8") for entry in folder.iterdir() if entry.name.endswith(".toml")}
    )


def parse_ruleset(files: Mapping[str, str]) -> Ruleset:
    """Parse TOML texts, keyed by file name."""
    tables = {name: _parse_toml(name, text) for name, text in sorted(files.items())}
    vocabulary = tables.pop(VOCABULARY, {})
    rules = [rule for name, table in tables.items() for rule in _parse_file(name, table, vocabulary)]
    _check_ids_and_checks(rules)
    return ruleset_of(rules, _traced(vocabulary))


def ruleset_of(rules: Iterable[Rule], traced: Traced = ()) -> Ruleset:
    """Return a ruleset whose version is a digest over the data of all its rules."""
    ordered = tuple(sorted(rules, key=lambda rule: rule.id))
    data = msgspec.json.encode((ordered, traced), order="deterministic")
    return Ruleset(digest_of(data), ordered, traced)


def _traced(vocabulary: dict[str, object]) -> Traced:
    lists = {name: msgspec.convert(vocabulary.get(name, []), tuple[str, ...]) for pair in _TRACED for name in pair}
    return tuple((lists[sources], lists[sinks]) for sources, sinks in _TRACED)


def _parse_toml(name: str, text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"{name}: {error}", code="invalid_rule") from error


def _parse_file(name: str, table: dict[str, object], vocabulary: dict[str, object]) -> list[Rule]:
    rules = table.get("rule")
    if set(table) != {"family", "rule"} or not isinstance(rules, list):
        raise Invalid(f"{name}: A rule file needs exactly `family` and `[[rule]]`.", code="invalid_rule")
    return [_parse_rule(name, table["family"], number, fields, vocabulary) for number, fields in enumerate(rules, 1)]


def _parse_rule(
    name: str, family: object, number: int, fields: dict[str, object], vocabulary: dict[str, object]
) -> Rule:
    try:
        rule = _expand_lists(msgspec.convert({"family": family, **fields}, Rule), vocabulary)
        validate_rule(rule)
    except (msgspec.ValidationError, Invalid) as error:
        where = fields.get("id", f"number {number}")
        raise Invalid(f"{name}: rule {where}: {error}", code="invalid_rule") from error
    return rule


def _expand_lists(rule: Rule, vocabulary: dict[str, object]) -> Rule:
    """Return the rule with names of vocabulary lists replaced by their content."""

    def spell(texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(word for text in texts for word in _expand_text(text, vocabulary))

    return msgspec.structs.replace(
        rule,
        patterns=spell(rule.patterns),
        together_with=spell(rule.together_with),
        lowered_by=spell(rule.lowered_by),
        not_if=spell(rule.not_if),
    )


def _expand_text(text: str, vocabulary: dict[str, object]) -> list[str]:
    listed = _strings(vocabulary, text[1:]) if text.startswith("@") else [text]
    return [_WORDS.sub(lambda name: f"(?:{'|'.join(_strings(vocabulary, 'words', name[1]))})", each) for each in listed]


def _strings(vocabulary: object, *names: str) -> list[str]:
    for name in names:
        vocabulary = vocabulary.get(name) if isinstance(vocabulary, dict) else None
    try:
        return msgspec.convert(vocabulary, list[str])
    except msgspec.ValidationError as error:
        raise Invalid(f"{VOCABULARY} has no list named {'.'.join(names)}.") from error


def _check_ids_and_checks(rules: list[Rule]) -> None:
    repeated = [id_ for id_, count in Counter(rule.id for rule in rules).items() if count > 1]
    if repeated:
        raise Invalid(f"Rule ids must be unique. Used more than once: {', '.join(repeated)}", code="invalid_rule")
    checks = Counter(rule.check for rule in rules if rule.check)
    for check in Check:
        if checks[check] != 1:
            raise Invalid(f"Check {check} needs exactly one rule, but has {checks[check]}.", code="invalid_rule")
