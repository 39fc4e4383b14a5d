"""Rules as data: patterns or a check, severity, confidence, and the two specimens."""

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
    ALL = "all"
    SCRIPTS = "scripts"
    COMMENTS = "comments"


class Check(StrEnum):
    """A check implemented in code, because no pattern can express it: skill structure, or a flow in its scripts."""

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
    """One rule. It has either patterns or a check, never both."""

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
    # The patterns to search for. If `together_with` is set, one of its patterns must match too: at most `within_lines`
    # away or, with `anywhere`, in any file of the skill. A name such as "@sends" stands for a list in
    # `vocabulary.toml`, and "<@secret>" within a pattern for one of the words that it lists.
    patterns: tuple[Text, ...] = ()
    together_with: tuple[Text, ...] = ()
    within_lines: int = 10
    anywhere: bool = False
    # Matches that contain one of these get a lower confidence: careful authors write them too.
    lowered_by: tuple[Text, ...] = ()
    # Matches that contain one of these are dropped.
    not_if: tuple[Text, ...] = ()
    # Confidence per region, where it differs from the general rule in `match/confidence.py`.
    confidence_in: dict[Region, Share] = {}
    # True if a skill about security would quote this as an example. If false, the skill's purpose lowers no confidence.
    teachable: bool = True
    # Match the original characters, before folding removes them. Patterns of such a rule contain no ASCII.
    raw: bool = False
    check: Check | None = None
    # Public descriptions of the threat: identifiers of OWASP, MITRE ATLAS/ATT&CK or CWE, such as "LLM01:2025".
    references: tuple[Text, ...] = ()
    # Ids of the rules in the previous scanner that this rule replaces.
    replaces: tuple[Text, ...] = ()
    specimen_file: Text = "SKILL.md"
    specimen_encoding: Text = "utf-8"
    # Number of repetitions of the bad specimen, for rules that depend on quantity.
    specimen_times: Annotated[int, Meta(ge=1, le=10_000)] = 1

    @property
    def bad_content(self) -> bytes:
        return (self.bad * self.specimen_times).encode(self.specimen_encoding)

    @property
    def benign_content(self) -> bytes:
        return self.benign.encode(self.specimen_encoding)

    @property
    def in_comments(self) -> bool:
        """Return true if the rule applies only to comments."""
        return self.applies_to is AppliesTo.COMMENTS

    @cached_property
    def comment_patterns(self) -> tuple[re.Pattern[bytes], ...]:
        """The compiled patterns of a rule that applies to comments."""
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
        """The compiled patterns of a `raw` rule."""
        return tuple(re.compile(pattern, re.IGNORECASE | re.MULTILINE) for pattern in self.patterns)


def validate_rule(rule: Rule) -> None:
    """Raise `Invalid` if the rule has neither patterns nor a check, has both, or has a pattern that could stall."""
    if bool(rule.patterns) == bool(rule.check):
        raise Invalid("A rule needs either patterns or a check.")
    for text in (*rule.patterns, *rule.together_with, *rule.lowered_by, *rule.not_if):
        if not rule.raw:
            Pattern(text)
