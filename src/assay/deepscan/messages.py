"""The messages between the registry and its scan nodes. This is a wire format: field names must not change."""

from datetime import datetime
from typing import Annotated
from urllib.parse import urlsplit
from uuid import UUID

import msgspec

from assay.model.deep_scan import MAX_FINDINGS, RESULTS, DeepStatus, DeepTool
from assay.model.errors import Invalid
from assay.model.finding import Severity
from assay.model.text import WITHOUT_NUL

MAX_BATCH_SIZE = 200
LARGEST_RESULT_BYTES = 512 * 1024
LARGEST_MESSAGE_BYTES = 64 * 1024
# The commit of an upload is its content digest.
Digest = Annotated[str, msgspec.Meta(pattern="^sha256:[0-9a-f]{64}$")]
Commit = Annotated[str, msgspec.Meta(pattern="^(sha256:)?[0-9a-f]{7,64}$")]
Words = Annotated[str, msgspec.Meta(max_length=500, pattern=WITHOUT_NUL)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=WITHOUT_NUL)]
Version = Annotated[str, msgspec.Meta(min_length=1, max_length=100, pattern=WITHOUT_NUL)]
Refusals = Annotated[dict[Name, Words], msgspec.Meta(max_length=10)]


class Message(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Base of all messages: keys are camelCase, and unknown keys are an error."""


class FindingMessage(Message, frozen=True):
    """A finding of a tool. `excerpt` never contains a secret."""

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
    """The result of one scan. `deliveryId` is unique to this delivery; `lease` is the lease of the scan."""

    delivery_id: Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9_-]{16,100}$")]
    scan_id: UUID
    node_id: UUID
    lease: UUID
    tool: DeepTool
    tool_version: Version
    content_digest: Digest
    commit: Commit
    status: DeepStatus
    findings: Annotated[list[FindingMessage], msgspec.Meta(max_length=MAX_FINDINGS)] = []
    left_out: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0
    error: Words | None = None
    duration_ms: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 0
    sandbox: Refusals = {}

    def __post_init__(self) -> None:
        """Reject contradictory results."""
        if self.status not in RESULTS:
            raise ValueError("status: must be the status of a finished scan")
        if (self.status is DeepStatus.ERROR) != bool(self.error):
            raise ValueError("error: required with the status `error`, and not allowed with any other")
        if self.status in (DeepStatus.CLEAN, DeepStatus.NOT_APPLICABLE) and (self.findings or self.left_out):
            raise ValueError("findings: not allowed with this status")
        if self.status is DeepStatus.FINDINGS and not self.findings:
            raise ValueError("findings: required with the status `findings`")


class NodeMessage(Message, frozen=True):
    """The registration of a node: its capacity and tools, and the leases that it is still working on."""

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
    """A request of a node for scans of one tool."""

    node_id: UUID
    tool: DeepTool
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_BATCH_SIZE)] = 50


class ReleaseMessage(Message, frozen=True):
    """A node returns the unfinished scans of a lease."""

    node_id: UUID
    lease: UUID


class DispatchedScan(Message, frozen=True):
    """A scan that is waiting or leased."""

    scan_id: UUID
    content_digest: str
    commit: str
    tool: DeepTool
    attempts: int
    created_at: datetime


class ScanBatch(Message, frozen=True):
    """Scans of one tool under one lease. The lease and its expiry are null if there are no scans."""

    node_id: UUID
    tool: DeepTool
    lease: UUID | None
    lease_expires_at: datetime | None
    scans: list[DispatchedScan]


def checked_url(url: str | None) -> str | None:
    """Return the URL of a node without a trailing slash; raise Invalid if scans cannot be pushed to it."""
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or any(part in url for part in ("@", "?", "#", " ")):
        raise Invalid(
            "url: must be an http or https URL without user, query or fragment, such as https://node.example:9000.",
            code="bad_url",
        )
    return url.rstrip("/")
