"""Findings and capabilities of a static scan."""

from dataclasses import dataclass, field
from enum import StrEnum

# Limits of stored capabilities: number per kind, and characters each.
MAX_CAPABILITIES = 200
MAX_CAPABILITY_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The capabilities of a skill, sorted and without duplicates so that versions can be compared."""

    hosts: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    outside_files: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


class Severity(StrEnum):
    """The severity of a finding, assuming that it is a true positive."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"


class Region(StrEnum):
    """The region of a finding: a script, a part of a Markdown file, or content that was decoded or reassembled."""

    SCRIPT = "script"
    PROSE = "prose"
    FENCED = "fenced"
    COMMENT = "comment"
    FRONT_MATTER = "front_matter"
    LINK = "link"
    HIDDEN = "hidden"

    @property
    def scored_as(self) -> "Region":
        """The region used for scoring: agents read front matter and links as prose, and run hidden content."""
        return _WEIGHED_AS.get(self, self)


_WEIGHED_AS = {Region.FRONT_MATTER: Region.PROSE, Region.LINK: Region.PROSE, Region.HIDDEN: Region.SCRIPT}


@dataclass(frozen=True, slots=True)
class Finding:
    """A match of one rule in one file."""

    rule_id: str
    family: str
    severity: Severity
    confidence: float
    file: str
    line: int
    excerpt: str
    message: str
    remediation: str
    # None for findings about a whole skill or file.
    region: Region | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """All findings and capabilities of one static scan."""

    engine: str
    ruleset: str
    digest: str
    findings: tuple[Finding, ...]
    has_code: bool
    duration_ms: float
    capabilities: Capabilities = field(default_factory=Capabilities)
