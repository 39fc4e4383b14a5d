"""A rule as data: what it looks for, where, how sure a match makes us, and one specimen of each kind."""

import re
from enum import StrEnum
from functools import cached_property
from typing import Annotated

import msgspec
from msgspec import Meta

from assay.model.errors import Invalid
from assay.model.finding import Region, Severity
from assay.scan.pattern import Pattern

Text = Annotated[str, Meta(min_length=1)]
Share = Annotated[float, Meta(gt=0, le=1)]


class AppliesTo(StrEnum):
    """The text that a rule reads."""

    ALL = "all"
    SCRIPTS = "scripts"
    COMMENTS = "comments"


class Check(StrEnum):
    """What code finds, because no pattern can: the structure of a skill, and what flows where in its scripts."""

    FRONT_MATTER = "front_matter"
    NAME = "name"
    DESCRIPTION = "description"
    EXECUTABLE = "executable"
    ARCHIVE = "archive"
    BINARY = "binary"
    ENCODING = "encoding"
    LOOKALIKE_NAME = "lookalike_name"
    MISSING_SCRIPT = "missing_script"
    SIZE = "size"
    MISSING_FILE = "missing_file"
    OUTSIDE_FILE = "outside_file"
    DECEPTIVE_LINK = "deceptive_link"
    SECRET_SENT = "secret-sent"  # noqa: S105 - a word on a report
    HOST_DATA_SENT = "host-data-sent"
    DOWNLOAD_RUN = "download-run"
    DECODED_RUN = "decoded-run"
    REMOTE_SHELL = "remote-shell"
    PERSISTED = "persisted"
    HIDDEN_NAME = "hidden-name"


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
    # What is searched for, and companions of which one must match too, at most `within_lines` away or, with
    # `anywhere`, in any file of the skill. A name such as "@sends" stands for a list in `vocabulary.toml`,
    # and "<@secret>" within a pattern for the words that it lists.
    patterns: tuple[Text, ...] = ()
    together_with: tuple[Text, ...] = ()
    within_lines: int = 10
    anywhere: bool = False
    # A match that contains one of these is what careful authors write too, so it makes us less sure.
    lowered_by: tuple[Text, ...] = ()
    # A match that contains one of these is no match.
    not_if: tuple[Text, ...] = ()
    # How sure a match makes us in one region, where that differs from the rule of thumb in `examine.py`.
    confidence_in: dict[Region, Share] = {}
    # Whether a skill about security would show this as an example; if it would not, its purpose excuses nothing.
    teachable: bool = True
    # Such a rule looks for characters that folding takes away; none of them is ASCII.
    raw: bool = False
    check: Check | None = None
    # Where the threat is described in public: identifiers of OWASP, MITRE ATLAS/ATT&CK or CWE, such as "LLM01:2025".
    references: tuple[Text, ...] = ()
    # The rules of the scanner before this one that looked for the same, so that its users find their way.
    replaces: tuple[Text, ...] = ()
    specimen_file: Text = "SKILL.md"
    specimen_encoding: Text = "utf-8"
    # How often the bad specimen stands below itself, where only much of it is bad.
    specimen_times: Annotated[int, Meta(ge=1, le=10_000)] = 1

    @property
    def bad_content(self) -> bytes:
        """The bytes of the bad specimen."""
        return (self.bad * self.specimen_times).encode(self.specimen_encoding)

    @property
    def benign_content(self) -> bytes:
        """The bytes of the benign specimen."""
        return self.benign.encode(self.specimen_encoding)

    @property
    def in_comments(self) -> bool:
        """Whether only what stands in comments is read."""
        return self.applies_to is AppliesTo.COMMENTS

    @cached_property
    def comment_patterns(self) -> tuple[re.Pattern[bytes], ...]:
        """The compiled patterns of such a rule."""
        return tuple(Pattern(pattern).regex for pattern in self.patterns)

    @cached_property
    def excuses(self) -> tuple[re.Pattern[bytes], ...]:
        """The compiled `lowered_by`."""
        return tuple(Pattern(pattern).regex for pattern in self.lowered_by)

    @cached_property
    def exceptions(self) -> tuple[re.Pattern[bytes], ...]:
        """The compiled `not_if`."""
        return tuple(Pattern(pattern).regex for pattern in self.not_if)

    @cached_property
    def raw_patterns(self) -> tuple[re.Pattern[str], ...]:
        """The patterns of a rule that looks at characters as they are."""
        return tuple(re.compile(pattern, re.IGNORECASE | re.MULTILINE) for pattern in self.patterns)


def validate_rule(rule: Rule) -> None:
    """Raise `Invalid` for what the types cannot say: no way to match, or a pattern that could stall."""
    if bool(rule.patterns) == bool(rule.check):
        raise Invalid("a rule needs either patterns or a check")
    for text in (*rule.patterns, *rule.together_with, *rule.lowered_by, *rule.not_if):
        if not rule.raw:
            Pattern(text)
