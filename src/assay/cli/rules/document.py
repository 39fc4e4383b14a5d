"""A rule for programs."""

import msgspec

from assay.scan.rule import Rule


class RuleShown(msgspec.Struct, rename="camel"):
    """What a rule looks for and why, without the patterns by which it is recognised."""

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


def rule_document(rule: Rule) -> RuleShown:
    """The rule as it is printed in JSON."""
    return RuleShown(
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
