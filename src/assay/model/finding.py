"""A finding: what a rule saw, where, and how bad that is."""

from dataclasses import dataclass, field
from enum import StrEnum

from assay.model.capability import Capabilities


class Severity(StrEnum):
    """How bad it would be if the finding is what it looks like."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"


class Region(StrEnum):
    """What a finding stands in: a file that is no Markdown, or a part of one that is; or what the scanner had to decode
    or put together.
    """

    SCRIPT = "script"
    PROSE = "prose"
    FENCED = "fenced"
    COMMENT = "comment"
    FRONT_MATTER = "front_matter"
    LINK = "link"
    HIDDEN = "hidden"

    @property
    def weighed_as(self) -> "Region":
        """The region whose weight it has: an agent reads front matter and links as prose, and runs what was hidden."""
        return _WEIGHED_AS.get(self, self)


_WEIGHED_AS = {Region.FRONT_MATTER: Region.PROSE, Region.LINK: Region.PROSE, Region.HIDDEN: Region.SCRIPT}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule saw in one file."""

    rule_id: str
    family: str
    severity: Severity
    confidence: float
    file: str
    line: int
    excerpt: str
    message: str
    remediation: str
    # None where a skill or a file as a whole is meant.
    region: Region | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything one engine with one ruleset has to say about one content digest."""

    engine: str
    ruleset: str
    digest: str
    findings: tuple[Finding, ...]
    has_code: bool
    duration_ms: float
    capabilities: Capabilities = field(default_factory=Capabilities)
