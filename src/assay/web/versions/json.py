"""JSON of versions: their status, files, scans, approvals and differences."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from assay.model.moderation import Review
from assay.model.repository import Host
from assay.model.skill import ListingStatus, Skill, SkillVersion, StatusReason, Tier, VersionStatus
from assay.model.source import FileEntry
from assay.model.verdict import Path
from assay.serve.versions.compare import FileChange, FileStatus, Pair, unified
from assay.serve.versions.versions import VersionDetail, VersionsPage
from assay.web.findings.json import CapabilitiesView, ScanView, present_capabilities, present_scan
from assay.web.http.json import Body, View
from assay.web.http.links import repository_url
from assay.web.scans.json import DeepScanView, present_deep_scans

LONGEST_REASON = 1_000
PublicReason = Annotated[
    str,
    msgspec.Meta(
        min_length=3,
        max_length=LONGEST_REASON,
        description="The reason. It is shown publicly and recorded in the audit log.",
    ),
]


class ReasonBody(Body, frozen=True):
    """A reason for a change."""

    reason: PublicReason


class RenameBody(Body, frozen=True):
    """The new last part of the name, such as `pdf-forms`."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class MoveBody(Body, frozen=True):
    """The namespace to move to. You must own both namespaces."""

    namespace: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class TagBody(Body, frozen=True):
    """The version that a tag points to."""

    version: Annotated[str, msgspec.Meta(min_length=1, max_length=100, description="Such as `1.2.0`.")]


class StatusReasonView(View, frozen=True):
    """The reason for a change of status, and when it was recorded."""

    code: str
    message: str
    at: datetime


class ListingStatusView(View, frozen=True):
    """The status of a listing."""

    name: str
    standing: ListingStatus
    reason: StatusReasonView | None
    current_version: str


class ApprovalView(View, frozen=True):
    """A reviewer approved exactly this content, regardless of its scans."""

    path: Path
    reason: str
    at: datetime


class FileView(View, frozen=True):
    """A file of a version."""

    path: str
    size: int
    sha256: str


class FilesView(View, frozen=True):
    """The files of one version. `aliases` lists the former and short names of its listing: a hallmark may be signed
    for any of them.
    """

    name: str
    aliases: list[str]
    version: str
    content_hash: str
    files: list[FileView]


class VersionEntryView(View, frozen=True):
    """An immutable version with its signed hallmark (a DSSE envelope). `diffSummary` says what it changed.

    A `yanked` version can still be fetched by its exact number, a `withdrawn` one cannot; `reason` says why.
    `contentHash` equals `contentDigest` and `createdAt` equals `publishedAt`; older clients read those names.
    """

    version: str
    status: VersionStatus
    reason: StatusReasonView | None
    deprecated: bool
    deprecation: StatusReasonView | None
    cert_tier: Tier
    cert_score: int
    published_at: datetime
    created_at: datetime
    content_digest: str
    content_hash: str
    commit: str
    diff_summary: str
    hallmark: dict[str, object]


class VersionsView(View, frozen=True):
    """A page of versions, newest first. `tags` maps each tag to the version it points to."""

    name: str
    current_version: str
    versions: list[VersionEntryView]
    tags: dict[str, str]
    next_cursor: str | None


class VersionDetailView(VersionEntryView, frozen=True):
    """A version with its files and scans. `content` is its SKILL.md and `sha` the SHA-256 of that text."""

    name: str
    previous: str | None
    tags: list[str]
    files: list[FileView]
    scans: list[ScanView]
    deep_scans: list[DeepScanView] | None
    review: ApprovalView | None
    sha: str
    content: str


class VersionReportView(View, frozen=True):
    """All scans of one version."""

    name: str
    version: str
    content_digest: str
    commit: str
    score: int
    scans: list[ScanView]
    deep_scans: list[DeepScanView]


class TagsView(View, frozen=True):
    """The tags of a listing, each with the version it points to."""

    name: str
    tags: dict[str, str]


class DiffView(View, frozen=True):
    """All differences between two versions as one text in the format of `git diff`."""

    source: Literal["local-content"]
    from_version: str = msgspec.field(name="from")
    to_version: str = msgspec.field(name="to")
    diff_summary: str
    content_diff: str


class FileChangeView(View, frozen=True):
    """A file that differs. `patch` is null if the file is binary, only moved, or too large."""

    filename: str
    status: FileStatus
    additions: int
    deletions: int
    patch: str | None
    previous_filename: str | None
    binary: bool


class CapabilityChangesView(View, frozen=True):
    """The capabilities that the newer version adds and removes."""

    added: CapabilitiesView
    removed: CapabilitiesView


class CompareView(View, frozen=True):
    """Two versions compared file by file."""

    source: Literal["local-content"]
    from_version: str = msgspec.field(name="from")
    to_version: str = msgspec.field(name="to")
    base_sha: str
    head_sha: str
    diff_summary: str
    files: list[FileChangeView]
    capabilities: CapabilityChangesView
    github_compare_url: str | None


def present_status(skill: Skill) -> ListingStatusView:
    return ListingStatusView.of(skill, reason=skill.remark)


def present_status_reason(reason: StatusReason | None) -> StatusReasonView | None:
    """Convert a status reason without its actor, who is not public."""
    return StatusReasonView.of(reason) if reason else None


def present_approval(review: Review | None) -> ApprovalView | None:
    """Convert an approval without its reviewer, who is not public."""
    return ApprovalView.of(review, path=Path.REVIEWED) if review else None


def present_files(files: Sequence[FileEntry]) -> list[FileView]:
    return [FileView.of(file) for file in files]


def present_versions(page: VersionsPage) -> VersionsView:
    return VersionsView.of(
        page,
        name=page.skill.name,
        current_version=page.skill.current_version,
        versions=present_entries(page.versions, page.summaries),
    )


def present_entries(versions: Sequence[SkillVersion], summaries: Mapping[str, str]) -> list[VersionEntryView]:
    """Convert versions; `summaries` maps each version to what it changed."""
    return [present_entry(version, summaries[version.version]) for version in versions]


def present_entry(version: SkillVersion, summary: str) -> VersionEntryView:
    return VersionEntryView.of(version, **_entry_fields(version, summary))


def present_version(detail: VersionDetail, text: tuple[str, str], ruleset: str) -> VersionDetailView:
    """Convert a version with its files and scans; `text` is its SKILL.md and the SHA-256 of that."""
    return VersionDetailView.of(
        detail.version,
        **_entry_fields(detail.version, detail.summary),
        name=detail.skill.name,
        previous=detail.previous.version if detail.previous else None,
        tags=detail.tags,
        files=present_files(detail.files),
        scans=[present_scan(scan, ruleset, detail.decisions) for scan in detail.scans],
        deep_scans=present_deep_scans(detail.deep_scans),
        review=present_approval(detail.decisions.review),
        content=text[0],
        sha=text[1],
    )


def present_report(detail: VersionDetail, ruleset: str) -> VersionReportView:
    return VersionReportView.of(
        detail.version,
        name=detail.skill.name,
        scans=[present_scan(scan, ruleset, detail.decisions) for scan in detail.scans],
        deep_scans=present_deep_scans(detail.deep_scans),
    )


def present_diff(pair: Pair, changes: Sequence[FileChange]) -> DiffView:
    return DiffView(
        source="local-content",
        from_version=pair.before.version,
        to_version=pair.after.version,
        diff_summary=pair.summary,
        content_diff=unified(changes),
    )


def present_comparison(pair: Pair, changes: Sequence[FileChange], web_url: str) -> CompareView:
    return CompareView(
        source="local-content",
        from_version=pair.before.version,
        to_version=pair.after.version,
        base_sha=pair.before.commit,
        head_sha=pair.after.commit,
        diff_summary=pair.summary,
        files=[present_change(change) for change in changes],
        capabilities=CapabilityChangesView(
            added=present_capabilities(pair.gained), removed=present_capabilities(pair.lost)
        ),
        github_compare_url=compare_url(pair, web_url),
    )


def present_change(change: FileChange) -> FileChangeView:
    return FileChangeView.of(
        change, filename=change.path, previous_filename=change.former_path, binary=change.is_binary
    )


def compare_url(pair: Pair, web_url: str) -> str | None:
    """Return GitHub's page that compares the two commits, if the repository is there."""
    url = repository_url(pair.skill.repository, web_url)
    is_on_github = url is not None and pair.skill.repository.host is Host.GITHUB
    return f"{url}/compare/{pair.before.commit}...{pair.after.commit}" if is_on_github else None


def _entry_fields(version: SkillVersion, summary: str) -> dict[str, Any]:
    """Return the fields whose names or types differ from those of a version."""
    return {
        "reason": present_status_reason(version.remark),
        "deprecated": version.deprecation is not None,
        "deprecation": present_status_reason(version.deprecation),
        "cert_tier": version.tier,
        "cert_score": version.score,
        "created_at": version.published_at,
        "content_hash": version.content_digest,
        "diff_summary": summary,
    }
