"""Deep scans of published content by external tools."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from assay.model.finding import Finding

MAX_FINDINGS = 100


class DeepTool(StrEnum):
    """A tool for deep scans."""

    SEMGREP = "semgrep"
    NJSSCAN = "njsscan"
    KINGFISHER = "kingfisher"
    TRUFFLEHOG = "trufflehog"


class DeepStatus(StrEnum):
    """The status of a deep scan. `error` is a failure of the tool and says nothing about the skill."""

    PENDING = "pending"
    RUNNING = "running"
    CLEAN = "clean"
    FINDINGS = "findings"
    # The content has no file of a type that the tool examines.
    NOT_APPLICABLE = "not_applicable"
    ERROR = "error"


WAITING = frozenset({DeepStatus.PENDING, DeepStatus.RUNNING})
RESULTS = frozenset(DeepStatus) - WAITING


@dataclass(frozen=True, slots=True)
class DeepScan:
    """A stored scan of a skill's content by one tool, dispatched for `commit`."""

    id: UUID
    content_digest: str
    commit: str
    tool: DeepTool
    tool_version: str | None
    status: DeepStatus
    findings: tuple[Finding, ...]
    # Number of findings beyond the stored ones.
    left_out: int
    error: str | None
    attempts: int
    created_at: datetime
    finished_at: datetime | None
    # Cage restrictions that the kernel of the scan node does not support, with the reason.
    sandbox: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DeepResult:
    """The result of one tool for a skill's content."""

    status: DeepStatus
    findings: tuple[Finding, ...] = ()
    left_out: int = 0
    error: str | None = None
    duration_ms: float = 0
