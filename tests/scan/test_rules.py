"""The rules as data: complete, bounded, and each tried on its own specimens."""

import re
import re._constants as ops
import re._parser as parser
import time
from collections.abc import Iterable

import pytest

from assay.model.errors import Invalid
from assay.model.finding import Finding
from assay.model.source import Source
from assay.scan.rule import Check, Rule
from assay.scan.ruleset import load_ruleset, parse_ruleset, ruleset_of
from assay.scan.scan import scan_source
from assay.scan.search import Search, compile_bounded

RULESET = load_ruleset()
EVERY_RULE = pytest.mark.parametrize("rule", RULESET.rules, ids=lambda rule: rule.id)
EVERY_SEARCH = pytest.mark.parametrize(
    "search",
    [pytest.param(search, id=rule.id) for rule in RULESET.rules for search in (*rule.patterns, *rule.together_with)],
)
STRUCTURE = "\n".join(
    f"""[[rule]]
id = "ST-{number:03}"
title = "t"
severity = "low"
confidence = 1.0
check = "{check}"
rationale = "r"
remediation = "r"
bad = "b"
benign = "b"
"""
    for number, check in enumerate(Check)
)


def findings_of(rule: Rule, specimen: str) -> list[Finding]:
    source = Source({rule.specimen_file: specimen.encode(rule.specimen_encoding)}, commit="0" * 40)
    return [finding for finding in scan_source(source, RULESET).findings if finding.rule_id == rule.id]


@EVERY_RULE
def test_a_rule_finds_its_bad_specimen(rule: Rule) -> None:
    found = findings_of(rule, rule.bad)
    assert found
    assert {rule.family} == {finding.family for finding in found}
    assert {rule.severity} == {finding.severity for finding in found}


@EVERY_RULE
def test_a_rule_leaves_its_benign_specimen_alone(rule: Rule) -> None:
    assert findings_of(rule, rule.benign) == []


@EVERY_RULE
def test_a_rule_says_why_it_matters_and_what_to_do(rule: Rule) -> None:
    assert len(rule.rationale.split()) >= 5
    assert rule.remediation.strip().endswith(".")
    assert not rule.title.endswith(".")


@EVERY_RULE
def test_specimens_name_only_reserved_hosts(rule: Rule) -> None:
    hosts = re.findall(r"https?://([\w.-]+)", rule.bad + rule.benign)
    assert [host for host in hosts if not host.endswith((".example.com", ".example.org", "w3.org"))] == []


def test_ids_are_unique_and_every_family_has_its_own_file() -> None:
    ids = [rule.id for rule in RULESET.rules]
    assert len(ids) == len(set(ids))
    prefixes: dict[str, set[str]] = {}
    for rule in RULESET.rules:
        prefixes.setdefault(rule.family, set()).add(rule.id[:2])
    assert all(len(prefix) == 1 for prefix in prefixes.values())


@EVERY_SEARCH
def test_every_match_contains_one_of_the_words_it_is_sought_near(search: Search) -> None:
    """A word that is missing would silence an alternative of the pattern without anybody noticing."""
    if search.near:
        assert proves(parser.parse(search.find, re.IGNORECASE | re.MULTILINE), search.near), search.find


def proves(items: Iterable[tuple[object, object]], words: tuple[str, ...]) -> bool:
    """Whether every text that this parsed pattern matches contains one of the words."""
    run = ""
    for op, value in items:
        if op is ops.LITERAL:
            run += chr(value).lower()
            continue
        if holds(run, words) or any(proves_within(run, op, value, words)):
            return True
        run = ""
    return holds(run, words)


def proves_within(run: str, op: object, value: object, words: tuple[str, ...]) -> Iterable[bool]:
    if op is ops.SUBPATTERN:
        yield proves([*((ops.LITERAL, ord(character)) for character in run), *value[-1]], words)
    elif op is ops.BRANCH:
        prefix = [(ops.LITERAL, ord(character)) for character in run]
        yield all(proves([*prefix, *branch], words) for branch in value[1])
    elif op in (ops.MAX_REPEAT, ops.MIN_REPEAT) and value[0] >= 1:
        yield proves(value[2], words)
    elif op is ops.IN and all(kind is ops.LITERAL for kind, _ in value):
        yield all(holds(run + chr(character).lower(), words) for _, character in value)


def holds(text: str, words: tuple[str, ...]) -> bool:
    return any(word in text for word in words)


def test_the_proof_notices_a_missing_word() -> None:
    pattern = parser.parse(r"\b(?:curl|wget)\s", re.IGNORECASE)
    assert proves(pattern, ("curl", "wget"))
    assert not proves(pattern, ("curl",))


def test_all_rules_together_get_through_hostile_text_in_time() -> None:
    """Patterns are bounded, so text that is made to stall them costs time in proportion to its length."""
    words = sorted({word for rule in RULESET.rules for search in rule.patterns for word in search.near})
    hostile = {
        "words.md": " ".join(words) * 20,
        "lines.sh": "\n".join(words) * 20,
        "spaces.md": " " * 50_000,
        "curl.sh": "curl " * 10_000,
        "hidden.md": "a\u200b" * 25_000,
        "comments.md": "<!-- you must " * 4_000,
        "fences.md": "```\n" * 12_000,
    }
    source = Source({path: text.encode() for path, text in hostile.items()}, commit="0" * 40)
    started = time.perf_counter()
    scan_source(source, RULESET)
    assert time.perf_counter() - started < 20


@pytest.mark.parametrize("pattern", ["a*", "a+b", "a{2,}", "(?:ab){3}", "(?:a|b){0,9}", "("])
def test_a_pattern_that_could_stall_or_is_none_is_refused(pattern: str) -> None:
    with pytest.raises(Invalid):
        compile_bounded(pattern)


@pytest.mark.parametrize("pattern", [r"\*\+", "[*+]{0,80}", r"(?:ab)?c{1,3}", r"[^\n]{0,80}\|"])
def test_a_bounded_pattern_is_accepted(pattern: str) -> None:
    assert compile_bounded(pattern)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("family = ", "broken.toml"),
        ('family = "f"\nother = 1', "broken.toml"),
        ('family = "f"\n[[rule]]\nid = "XX-001"', "broken.toml: rule XX-001"),
        ('family = "f"\n[[rule]]\ntitle = "t"', "broken.toml: rule number 1"),
        ('family = "f"\n' + STRUCTURE.replace("low", "awful", 1), "broken.toml: rule ST-000"),
        ('family = "f"\n' + STRUCTURE.replace('check = "name"', ""), "either patterns or a check"),
        ('family = "f"\n' + STRUCTURE.replace("ST-001", "ST-000"), "used twice: ST-000"),
    ],
)
def test_a_malformed_rule_is_named_with_its_file(broken: str, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        parse_ruleset({"broken.toml": broken})


def test_the_version_changes_with_the_data_and_not_with_the_order() -> None:
    assert RULESET.version == load_ruleset().version == ruleset_of(reversed(RULESET.rules)).version
    assert RULESET.version != ruleset_of(RULESET.rules[1:]).version
