"""The rules as data: complete, bounded, and tested on their specimens."""

import re
import time

import pytest

from assay.model.errors import Invalid
from assay.model.finding import Finding
from assay.model.source import Source
from assay.scan.pattern import Pattern
from assay.scan.rule import Check, Rule
from assay.scan.ruleset import load_ruleset, parse_ruleset, ruleset_of
from assay.scan.scan import scan_source

RULESET = load_ruleset()
# Addresses that lead nowhere, or only to this machine or network.
RESERVED = re.compile(r"240\.|127\.|192\.168\.")
EVERY_RULE = pytest.mark.parametrize("rule", RULESET.rules, ids=lambda rule: rule.id)
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


def findings_of(rule: Rule, content: bytes) -> list[Finding]:
    source = Source({rule.specimen_file: content}, commit="0" * 40)
    return [finding for finding in scan_source(source, RULESET).findings if finding.rule_id == rule.id]


@EVERY_RULE
def test_rule_finds_its_malicious_specimen(rule: Rule) -> None:
    found = findings_of(rule, rule.bad_content)
    assert found
    assert {rule.family} == {finding.family for finding in found}
    assert {rule.severity} == {finding.severity for finding in found}


@EVERY_RULE
def test_rule_ignores_its_benign_specimen(rule: Rule) -> None:
    assert findings_of(rule, rule.benign_content) == []


@EVERY_RULE
def test_rule_has_a_rationale_and_a_remedy(rule: Rule) -> None:
    assert len(rule.rationale.split()) >= 5
    assert rule.remediation.strip().endswith(".")
    assert not rule.title.endswith(".")


@EVERY_RULE
def test_specimens_use_reserved_hosts(rule: Rule) -> None:
    hosts = re.findall(r"https?://([\w.-]+)", rule.bad + rule.benign)
    assert [
        host
        for host in hosts
        if not host.endswith((".example.com", ".example.org", "w3.org")) and not RESERVED.match(host)
    ] == []


def test_rule_ids_are_unique_and_families_have_files() -> None:
    ids = [rule.id for rule in RULESET.rules]
    assert len(ids) == len(set(ids))
    prefixes: dict[str, set[str]] = {}
    for rule in RULESET.rules:
        prefixes.setdefault(rule.family, set()).add(rule.id[:2])
    assert all(len(prefix) == 1 for prefix in prefixes.values())


def test_all_rules_handle_hostile_text_in_time() -> None:
    """Patterns are bounded, so hostile text takes linear time."""
    words = sorted({word for text in RULESET.pattern_texts for word in re.findall("[a-z]{4,}", text)})
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
    scan_source(Source({"SKILL.md": b"# Empty\n"}, commit="0" * 40), RULESET)  # builds the engine, which is not timed
    started = time.process_time()
    scan_source(source, RULESET)
    assert time.process_time() - started < 20


@pytest.mark.parametrize("pattern", ["a*", "a+b", "a{2,}", "(?:ab){3}", "(?:a|b){0,9}", "("])
def test_unbounded_or_invalid_pattern_is_rejected(pattern: str) -> None:
    with pytest.raises(Invalid):
        Pattern(pattern).regex  # noqa: B018 - compiled when it is first needed


@pytest.mark.parametrize("pattern", [r"\*\+", "[*+]{0,80}", r"(?:ab)?c{1,3}", r"[^\n]{0,80}\|"])
def test_bounded_pattern_is_accepted(pattern: str) -> None:
    assert Pattern(pattern).regex


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("family = ", "broken.toml"),
        ('family = "f"\nother = 1', "broken.toml"),
        ('family = "f"\n[[rule]]\nid = "XX-001"', "broken.toml: rule XX-001"),
        ('family = "f"\n[[rule]]\ntitle = "t"', "broken.toml: rule number 1"),
        ('family = "f"\n' + STRUCTURE.replace("low", "awful", 1), "broken.toml: rule ST-000"),
        ('family = "f"\n' + STRUCTURE.replace('check = "name"', ""), "either patterns or a check"),
        ('family = "f"\n' + STRUCTURE.replace("ST-001", "ST-000"), "more than once: ST-000"),
    ],
)
def test_malformed_rule_is_reported_with_its_file(broken: str, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        parse_ruleset({"broken.toml": broken})


def test_ruleset_version_depends_on_data_not_order() -> None:
    assert RULESET.version == load_ruleset().version == ruleset_of(reversed(RULESET.rules), RULESET.traced).version
    assert RULESET.version != ruleset_of(RULESET.rules[1:], RULESET.traced).version


def test_every_legacy_rule_has_a_successor() -> None:
    """Clients know 52 tier-1 rules by id; `replaces` names the successor of each."""
    numbered = {"CI": 8, "DE": 5, "PE": 5, "CT": 6, "PI": 4, "FS": 4, "NA": 3, "CE": 3, "DCI": 14}
    known = {f"{family}-{number:03}" for family, count in numbered.items() for number in range(1, count + 1)}
    assert len(known) == 52
    assert known == {old for rule in RULESET.rules for old in rule.replaces}


@EVERY_RULE
def test_rules_refer_to_a_public_taxonomy(rule: Rule) -> None:
    taxonomies = re.compile(r"LLM\d\d:2025|ASI\d\d:2026|AML\.T\d{4}(\.\d{3})?|T\d{4}(\.\d{3})?|CWE-\d+")
    assert rule.references
    assert all(taxonomies.fullmatch(reference) for reference in rule.references)
