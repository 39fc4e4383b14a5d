"""A deep scan: one external tool looking at one content, after it is published."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from assay.model.finding import Finding

MOST_FINDINGS = 100


class DeepTool(StrEnum):
    """The tools that the registry knows by name."""

    SEMGREP = "semgrep"
    NJSSCAN = "njsscan"
    KINGFISHER = "kingfisher"
    TRUFFLEHOG = "trufflehog"


class DeepStatus(StrEnum):
    """Where a deep scan stands. A tool that failed has said nothing of the skill; nor has one that has not run."""

    PENDING = "pending"
    RUNNING = "running"
    CLEAN = "clean"
    FINDINGS = "findings"
    # None of its files is of a kind that the tool looks at.
    NOT_APPLICABLE = "not_applicable"
    ERROR = "error"


WAITING = frozenset({DeepStatus.PENDING, DeepStatus.RUNNING})
RESULTS = frozenset(DeepStatus) - WAITING


@dataclass(frozen=True, slots=True)
class DeepScan:
    """One scan as it is kept. The commit is the one that it was dispatched for."""

    id: UUID
    content_digest: str
    commit: str
    tool: DeepTool
    tool_version: str | None
    status: DeepStatus
    findings: tuple[Finding, ...]
    # How many more there were than are kept.
    left_out: int
    error: str | None
    attempts: int
    created_at: datetime
    finished_at: datetime | None
    # What the kernel of the node refused to take from the tool, by name.
    sandbox: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DeepResult:
    """What a tool says of one content."""

    status: DeepStatus
    findings: tuple[Finding, ...] = ()
    left_out: int = 0
    error: str | None = None
    duration_ms: float = 0
