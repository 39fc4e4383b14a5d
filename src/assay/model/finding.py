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
