"""The JSON of the blocklist. Clients of the old platform read the same keys."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec

from assay.model.blocklist import BlocklistEntry, Threat
from assay.model.finding import Severity
from assay.model.submission import State
from assay.web.http.json import View
from assay.web.http.present import source_of_key
from assay.web.submissions.json import Body
from assay.web.versions.json import Why

SOURCE = "assay"
Digest = Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}$")]

EvidenceUrl = Annotated[str, msgspec.Meta(max_length=500, pattern="^https?://[!-~]+$")]


class EntryView(View, frozen=True):
    """What is blocked, and why. `contentHash` is of bytes; `sourceUrl` and `skillName` are of a repository or one skill
    of it; `everywhere` is a name wherever it comes from.
    """

    id: UUID
    skill_name: str | None
    source_url: str | None
    source_registry: str
    content_hash: str | None
    everywhere: bool
    threat_type: Threat
    severity: Severity
    reason: str
    evidence_urls: list[str]
    discovered_at: datetime


class BlocklistView(View, frozen=True):
    """Every entry that holds. `serial` is the one to ask for changes after."""

    entries: list[EntryView]
    count: int
    last_updated: datetime | None
    serial: int


class BlocklistChangeView(View, frozen=True):
    """One entry that was added or lifted."""

    serial: int
    kind: str
    data: dict[str, object]
    created_at: datetime


class BlocklistChangesView(View, frozen=True):
    """What has changed since, in order; ask again with `since` = `nextSince`."""

    changes: list[BlocklistChangeView]
    next_since: int


class RefusalView(View, frozen=True):
    """Why this registry refused a skill."""

    skill_name: str
    state: State
    reason: str | None
    score: int | None
    rejected_at: datetime | None
    repo_url: str | None


class CheckedView(View, frozen=True):
    """What is known against a skill: an entry of the blocklist, or a refusal."""

    blocked: bool
    entry: EntryView | None
    rejected: bool
    rejection: RefusalView | None
    tainted: bool
    taint_reason: str | None


class BlockBody(Body, frozen=True):
    """What to block: bytes; a repository, or one skill of it; or a name everywhere, which has to be said."""

    threat_type: Threat
    severity: Severity
    reason: Why
    content_digest: Digest | None = None
    repository: Annotated[str, msgspec.Meta(max_length=201, pattern=r"^[\w.-]+/[\w.-]+$")] | None = None
    skill_name: Annotated[str, msgspec.Meta(max_length=100)] | None = None
    everywhere: bool = False
    evidence_urls: Annotated[tuple[EvidenceUrl, ...], msgspec.Meta(max_length=20)] = ()


class BlockedView(View, frozen=True):
    """The new entry, and the listings that it took down or gave another live version."""

    entry: EntryView
    skills: list[str]


class LiftBody(Body, frozen=True):
    """Why it is no longer blocked."""

    reason: Why


class LiftedView(View, frozen=True):
    """The listings that are back."""

    skills: list[str]


def present_entry(entry: BlocklistEntry, web_url: str) -> EntryView:
    """One entry."""
    target = entry.target
    return EntryView(
        id=entry.id,
        skill_name=target.skill_name,
        source_url=source_of_key(target.repository, web_url) if target.repository else None,
        source_registry=SOURCE,
        content_hash=target.content_digest,
        everywhere=target.everywhere,
        threat_type=entry.threat,
        severity=entry.severity,
        reason=entry.reason,
        evidence_urls=list(entry.evidence_urls),
        discovered_at=entry.discovered_at,
    )
