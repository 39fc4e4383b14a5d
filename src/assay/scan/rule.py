"""A rule as data: what it looks for, where, how sure a match makes us, and one specimen of each kind."""

import re
from enum import StrEnum
from functools import cached_property
from typing import Annotated

import msgspec
from msgspec import Meta

from assay.model.errors import Invalid
from assay.model.finding import Severity
from assay.scan.context import Context
from assay.scan.search import Search, compile_bounded

Text = Annotated[str, Meta(min_length=1)]
Share = Annotated[float, Meta(gt=0, le=1)]


class AppliesTo(StrEnum):
    """The text that a rule reads."""

    ALL = "all"
    SCRIPTS = "scripts"
    MARKDOWN = "markdown"
    COMMENTS = "comments"


class Check(StrEnum):
    """What a rule of the structure family reports; code finds these, because no pattern can."""

    FRONT_MATTER = "front_matter"
    NAME = "name"
    DESCRIPTION = "description"
    EXECUTABLE = "executable"
    ARCHIVE = "archive"
    BINARY = "binary"
    ENCODING = "encoding"


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """One rule. It has either patterns or a check."""

    id: Annotated[str, Meta(pattern=r"^[A-Z]{2}-[0-9]{3}$")]
    family: Text
    title: Text
    severity: Severity
    confidence: Share
    rationale: Text
    remediation: Text
    bad: Text
    benign: Text
    applies_to: AppliesTo = AppliesTo.ALL
    patterns: tuple[Search, ...] = ()
    # A match counts only if one of these matches too, at most `within_lines` away.
    together_with: tuple[Search, ...] = ()
    within_lines: int = 10
    # A match that contains one of these is what careful authors write too, so it makes us less sure.
    lowered_by: tuple[Text, ...] = ()
    # How sure a match makes us in one context, where that differs from the rule of thumb in `context.py`.
    confidence_in: dict[Context, Share] = {}
    # Such a rule looks for characters that folding takes away; none of them is ASCII.
    raw: bool = False
    check: Check | None = None
    # Where the threat is described in public: identifiers of OWASP, MITRE ATLAS/ATT&CK or CWE, such as "LLM01:2025".
    references: tuple[Text, ...] = ()
    # The rules of the scanner before this one that looked for the same, so that its users find their way.
    replaces: tuple[Text, ...] = ()
    specimen_file: Text = "SKILL.md"
    specimen_encoding: Text = "utf-8"

    @cached_property
    def excuses(self) -> tuple[re.Pattern[str], ...]:
        """The compiled `lowered_by`."""
        return tuple(compile_bounded(pattern) for pattern in self.lowered_by)


def validate_rule(rule: Rule) -> None:
    """Raise `Invalid` for what the types cannot say: no way to match, or a pattern that does not compile."""
    if bool(rule.patterns) == bool(rule.check):
        raise Invalid("a rule needs either patterns or a check")
    for search in (*rule.patterns, *rule.together_with):
        compile_bounded(search.find)
    for pattern in rule.lowered_by:
        compile_bounded(pattern)
