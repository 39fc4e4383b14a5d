"""What the registry and its nodes tell each other, typed and bounded."""

from datetime import datetime
from typing import Annotated
from urllib.parse import urlsplit
from uuid import UUID

import msgspec

from assay.model.deep_scan import MOST_FINDINGS, RESULTS, DeepStatus, DeepTool
from assay.model.errors import Invalid
from assay.model.finding import Severity
from assay.model.text import WITHOUT_NUL

MOST_AT_ONCE = 200
LARGEST_RESULT_BYTES = 512 * 1024
LARGEST_MESSAGE_BYTES = 64 * 1024
# The kinds of a content's digest and of a commit; an upload is its own commit.
Digest = Annotated[str, msgspec.Meta(pattern="^sha256:[0-9a-f]{64}$")]
Commit = Annotated[str, msgspec.Meta(pattern="^(sha256:)?[0-9a-f]{7,64}$")]
Words = Annotated[str, msgspec.Meta(max_length=500, pattern=WITHOUT_NUL)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=WITHOUT_NUL)]
Version = Annotated[str, msgspec.Meta(min_length=1, max_length=100, pattern=WITHOUT_NUL)]
Refusals = Annotated[dict[Name, Words], msgspec.Meta(max_length=10)]


class Message(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Keys are camelCase on the wire, and one that is not known is an error."""


class FindingMessage(Message, frozen=True):
    """One thing that a tool saw. `excerpt` never shows a secret."""

    rule_id: Name
    family: Name
    severity: Severity
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]
    file: Annotated[str, msgspec.Meta(max_length=1000, pattern=WITHOUT_NUL)]
    line: Annotated[int, msgspec.Meta(ge=1, le=10_000_000)]
    excerpt: Annotated[str, msgspec.Meta(max_length=200)]
    message: Words
    remediation: Words


class ScanResult(Message, frozen=True):
    """What a node says of one scan. `deliveryId` is used once; `lease` is the one that the scan was given out under."""

    delivery_id: Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9_-]{16,100}$")]
    scan_id: UUID
    node_id: UUID
    lease: UUID
    tool: DeepTool
    tool_version: Version
    content_digest: Digest
    commit: Commit
    status: DeepStatus
    findings: Annotated[list[FindingMessage], msgspec.Meta(max_length=MOST_FINDINGS)] = []
    left_out: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0
    error: Words | None = None
    duration_ms: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 0
    sandbox: Refusals = {}

    def __post_init__(self) -> None:
        """What contradicts itself is no result."""
        if self.status not in RESULTS:
            raise ValueError("status: it is none of a result")
        if (self.status is DeepStatus.ERROR) != bool(self.error):
            raise ValueError("error: with the status `error`, say why; with another one, there is none")
        if self.status in (DeepStatus.CLEAN, DeepStatus.NOT_APPLICABLE) and (self.findings or self.left_out):
            raise ValueError("findings: there are some, so the status is another")
        if self.status is DeepStatus.FINDINGS and not self.findings:
            raise ValueError("findings: there are none, so the status is another")


class NodeMessage(Message, frozen=True):
    """A node says that it is there, what it can do, and which leases it still works under."""

    node_id: UUID
    name: Name
    version: Version
    capacity: Annotated[int, msgspec.Meta(ge=1, le=1000)]
    tools: Annotated[dict[DeepTool, Version], msgspec.Meta(max_length=10)]
    in_flight: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 0
    url: Words | None = None
    sandbox: Refusals = {}
    leases: Annotated[list[UUID], msgspec.Meta(max_length=100)] = []


class ClaimMessage(Message, frozen=True):
    """A node asks for scans of one tool."""

    node_id: UUID
    tool: DeepTool
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_AT_ONCE)] = 50


class ReleaseMessage(Message, frozen=True):
    """A node gives back what it has not begun."""

    node_id: UUID
    lease: UUID


class DispatchedScan(Message, frozen=True):
    """A scan that waits, or is given out."""

    scan_id: UUID
    content_digest: str
    commit: str
    tool: DeepTool
    attempts: int
    created_at: datetime


class Work(Message, frozen=True):
    """Scans of one tool, given out until the lease ends. Both are null if there is nothing to do."""

    node_id: UUID
    tool: DeepTool
    lease: UUID | None
    lease_expires_at: datetime | None
    scans: list[DispatchedScan]


def checked_url(url: str | None) -> str | None:
    """An address that something can be pushed to. Raises Invalid for any other."""
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or any(part in url for part in ("@", "?", "#", " ")):
        raise Invalid("url: it must look like https://node.example:9000.", code="bad_url")
    return url.rstrip("/")
