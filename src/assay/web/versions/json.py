"""The JSON of listings with their versions: what is said of each, what differs, and what was taken back."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from assay.model.category import Category
from assay.model.listing_status import Standing, VersionStatus
from assay.model.skill import Tier
from assay.serve.versions.compare import FileStatus
from assay.web.http.json import CapabilitiesView, FileView, ProblemView, ScanView, SkillView, View
from assay.web.scans.deep_scan_json import DeepScanView
from assay.web.submissions.json import Body
from assay.web.versions.approval_json import ApprovalView

LONGEST_REASON = 1_000
Why = Annotated[
    str, msgspec.Meta(min_length=3, max_length=LONGEST_REASON, description="Why; shown to everybody, and audited.")
]


class RemarkView(View, frozen=True):
    """Why something is no longer as it was, and since when."""

    code: str
    message: str
    at: datetime


class ForkView(View, frozen=True):
    """Another listing of the same bytes."""

    name: str
    owner_slug: str
    repo_slug: str
    skill_slug: str
    repo_url: str | None
    github_stars: int | None


class VersionEntryView(View, frozen=True):
    """An immutable version with its signed hallmark (a DSSE envelope). `diffSummary` says what it changed.

    `contentHash` is `contentDigest`, and `createdAt` is `publishedAt`, under the names that older clients read.
    A `yanked` version is given to whoever asks for exactly it, a `withdrawn` one to nobody; `reason` says why.
    """

    version: str
    status: VersionStatus
    reason: RemarkView | None
    deprecated: bool
    deprecation: RemarkView | None
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
    """A page of versions, newest first; `tags` has the version that each tag points to."""

    name: str
    current_version: str
    versions: list[VersionEntryView]
    tags: dict[str, str]
    next_cursor: str | None


class VersionDetailView(VersionEntryView, frozen=True):
    """A version with its files and its scans; `content` is its SKILL.md, `sha` the SHA-256 of that text."""

    name: str
    previous: str | None
    tags: list[str]
    files: list[FileView]
    scans: list[ScanView]
    deep_scans: list[DeepScanView] | None
    review: ApprovalView | None
    sha: str
    content: str


class ListedSkillView(SkillView, frozen=True):
    """A listing with what clients install: `content` is the SKILL.md of the live version, `sha` the SHA-256 of that
    text without a byte order mark and with plain line ends. Both are null if its bytes cannot be read right now.

    `provenanceVerified`: this registry has fetched these bytes itself, from the repository at `commit`.
    """

    category: Category
    labels: list[str]
    installs: int
    vskill_installs: int
    trending_score_7d: int = msgspec.field(name="trendingScore7d")
    trending_score_30d: int = msgspec.field(name="trendingScore30d")
    provenance_verified: bool
    deprecation: RemarkView | None
    sha: str | None
    content: str | None


class ListingView(View, frozen=True):
    """A listing with its versions (newest first, at most 100), and the files and scans of the live one.

    If the same bytes are listed more than once, `canonical` names the listing to prefer, and `alternates` are the
    others. A trusted publisher is one whom the operators know; its skills are examined like all others.
    `sourceSeenAt` is when the listing was last compared with its source; null if it was uploaded.
    """

    skill: ListedSkillView
    trusted_publisher: bool
    versions: list[VersionEntryView]
    tags: dict[str, str]
    files: list[FileView]
    scans: list[ScanView]
    deep_scans: list[DeepScanView] | None
    review: ApprovalView | None
    canonical: str
    alternates: list[ForkView]
    source_seen_at: datetime | None


class DiffView(View, frozen=True):
    """All differences as one text, in the form of `git diff`."""

    source: Literal["local-content"]
    from_version: str = msgspec.field(name="from")
    to_version: str = msgspec.field(name="to")
    diff_summary: str
    content_diff: str


class FileChangeView(View, frozen=True):
    """A file that differs. `patch` is null for what is binary, moved, or too large to be shown."""

    filename: str
    status: FileStatus
    additions: int
    deletions: int
    patch: str | None
    previous_filename: str | None
    binary: bool


class CapabilityChangesView(View, frozen=True):
    """What the newer version reaches for that the older does not, and the other way round."""

    added: CapabilitiesView
    removed: CapabilitiesView


class CompareView(View, frozen=True):
    """Two versions side by side."""

    source: Literal["local-content"]
    from_version: str = msgspec.field(name="from")
    to_version: str = msgspec.field(name="to")
    base_sha: str
    head_sha: str
    diff_summary: str
    files: list[FileChangeView]
    capabilities: CapabilityChangesView
    github_compare_url: str | None


class FilesView(View, frozen=True):
    """The files of one version. `aliases` are the names that its listing had before or elsewhere: a hallmark may be
    signed for any of them.
    """

    name: str
    aliases: list[str]
    version: str
    content_hash: str
    files: list[FileView]


class WhyBody(Body, frozen=True):
    """A reason."""

    reason: Why


class TagBody(Body, frozen=True):
    """The version that the tag shall point to."""

    version: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class StandingView(View, frozen=True):
    """Where a listing stands now."""

    name: str
    standing: Standing
    reason: RemarkView | None
    current_version: str


class TagsView(View, frozen=True):
    """The version that each tag of a listing points to."""

    name: str
    tags: dict[str, str]


class ChoicesView(ProblemView, frozen=True):
    """Several skills have this name; `choices` are their full names."""

    choices: list[str]


class GoneProblemView(ProblemView, frozen=True):
    """It was here; `reason` says why it is not any more, `since` when that was."""

    reason: str | None
    since: datetime | None
