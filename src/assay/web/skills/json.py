"""JSON of listings, lists and searches of the catalogue."""

from datetime import datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

import msgspec

from assay.model.category import Category
from assay.model.finding import Severity
from assay.model.repository import RepositoryName
from assay.model.skill import Method, Skill, Tier, TrustTier
from assay.model.submission import StateGroup
from assay.serve.skills.listing import Listing
from assay.serve.skills.query import SkillQuery
from assay.serve.skills.search import Facets, Hit, SkillPage
from assay.serve.skills.stats import CatalogueStats
from assay.store.skills.forks import Fork
from assay.web.findings.json import ScanView, present_scan
from assay.web.http.json import View
from assay.web.http.links import repository_url
from assay.web.scans.json import DeepScanView, present_deep_scans
from assay.web.versions.json import (
    ApprovalView,
    FileView,
    StatusReasonView,
    VersionEntryView,
    present_approval,
    present_entries,
    present_files,
    present_status_reason,
)


class SkillView(View, frozen=True):
    """A listing. `author` is the owner of its namespace; `claimedAuthor` is what its front matter claims, if that is
    someone else.
    """

    id: UUID
    name: str
    display_name: str
    description: str
    author: str
    claimed_author: str | None
    repo_url: str | None
    owner_slug: str
    repo_slug: str
    skill_slug: str
    skill_path: str
    license: str | None
    cert_tier: Tier
    cert_method: Method
    cert_score: int
    certified_at: datetime
    trust_score: int
    trust_tier: TrustTier
    current_version: str
    content_digest: str
    commit: str
    github_stars: int | None
    created_at: datetime
    updated_at: datetime


SAME_FIELDS = tuple(name for name in SkillView.__struct_fields__ if name in Skill.__slots__)
copy_fields = attrgetter(*SAME_FIELDS)


class ListedSkillView(SkillView, frozen=True):
    """A listing with the text that clients install. `content` is the SKILL.md of the live version, and `sha` the
    SHA-256 of that text without a byte order mark and with LF line ends; both are null if it cannot be read now.

    `provenanceVerified` means that this registry fetched the content itself, from the repository at `commit`.
    """

    category: Category
    labels: list[str]
    installs: int
    vskill_installs: int
    trending_score_7d: int = msgspec.field(name="trendingScore7d")
    trending_score_30d: int = msgspec.field(name="trendingScore30d")
    provenance_verified: bool
    deprecation: StatusReasonView | None
    sha: str | None
    content: str | None


class ForkView(View, frozen=True):
    """Another listing with the same content."""

    name: str
    owner_slug: str
    repo_slug: str
    skill_slug: str
    repo_url: str | None
    github_stars: int | None


class ListingView(View, frozen=True):
    """A listing with its versions (newest first, at most 100), and the files and scans of the live version.

    If the same content is listed more than once, `canonical` names the preferred listing and `alternates` the others.
    A trusted publisher is known to the operators; its skills are scanned like all others. `sourceSeenAt` is the time
    when the listing was last compared with its repository; it is null for uploads. `looksLike` is the popular skill or
    owner that the name resembles; check that it is the skill that you mean.
    """

    skill: ListedSkillView
    trusted_publisher: bool
    looks_like: str | None
    versions: list[VersionEntryView]
    tags: dict[str, str]
    files: list[FileView]
    scans: list[ScanView]
    deep_scans: list[DeepScanView] | None
    review: ApprovalView | None
    canonical: str
    alternates: list[ForkView]
    source_seen_at: datetime | None


class AlternateView(View, frozen=True):
    """Another repository with the same content."""

    owner_slug: str
    repo_slug: str
    repo_url: str | None


class SkillHitView(SkillView, frozen=True):
    """A listing in a list or search.

    `isBlocked` marks a skill that was searched for by its name and must not be used; `threatType` and `severity` say
    why. Lists contain only live listings otherwise, so `isTainted` is always false.
    """

    category: Category
    labels: list[str]
    vskill_installs: int
    trending_7d: int
    trending_30d: int
    alternate_repos: list[AlternateView]
    is_tainted: bool
    is_blocked: bool
    threat_type: str | None
    severity: Severity | None


class FacetsView(View, frozen=True):
    """The number of listings by category and tier; null if it is not known for these filters."""

    category: dict[str, int] | None
    tier: dict[str, int] | None
    is_exact: bool


class PaginationView(View, frozen=True):
    """Numbered pages. Only cursors reach deeper pages."""

    page: int
    limit: int
    total: int
    total_pages: int


class SkillListView(View, frozen=True):
    """A page of listings. `total` is a lower bound unless `totalIsExact`."""

    skills: list[SkillHitView]
    total: int
    total_is_exact: bool
    next_cursor: str | None
    pagination: PaginationView
    facets: FacetsView


class SearchPaginationView(View, frozen=True):
    """The range of this page, and whether there is another page."""

    limit: int
    offset: int
    has_more: bool


class SearchHitsView(View, frozen=True):
    """Hits, best first. `approximate` means that nothing matches and these skills have similar names."""

    results: list[SkillHitView]
    pagination: SearchPaginationView
    total: int
    total_is_exact: bool
    next_cursor: str | None
    approximate: bool
    facets: FacetsView


class CategoryView(View, frozen=True):
    """A category and its number of live listings."""

    category: Category
    skills: int


class CategoriesView(View, frozen=True):
    """All categories, including empty ones. The numbers add up to `total`."""

    categories: list[CategoryView]
    total: int


class CatalogueStatsView(View, frozen=True):
    """Counts from one snapshot. `skills` counts live listings, and the other numbers are about those; `versions` counts
    those that can be fetched.

    `installs` are counted once per client, skill and day. `submissions` has the number of submissions by group of
    states, and their `total`.
    """

    skills: int
    versions: int
    repositories: int
    authors: int
    installs: int
    installs_7d: int = msgspec.field(name="installs7d")
    installs_30d: int = msgspec.field(name="installs30d")
    by_category: dict[str, int]
    by_tier: dict[str, int]
    submissions: dict[str, int]
    generated_at: datetime


def present_listing(
    listing: Listing,
    text: tuple[str, str] | None,
    web_url: str,
    ruleset: str,
    *,
    is_trusted: bool,
    looks_like: str | None,
) -> ListingView:
    """Convert a listing; `text` is its SKILL.md and the SHA-256 of that, if it can be read."""
    return ListingView.of(
        listing,
        skill=_present_listed(listing, text, web_url),
        trusted_publisher=is_trusted,
        looks_like=looks_like,
        versions=present_entries(listing.versions, listing.summaries),
        files=present_files(listing.files),
        scans=[present_scan(scan, ruleset, listing.decisions) for scan in listing.scans],
        deep_scans=present_deep_scans(listing.deep_scans),
        review=present_approval(listing.decisions.review),
        alternates=[_present_fork(fork, web_url) for fork in listing.alternates],
    )


def present_list(page: SkillPage, query: SkillQuery, web_url: str) -> SkillListView:
    return SkillListView.of(
        page,
        skills=[_present_hit(hit, web_url) for hit in page.hits],
        pagination=PaginationView(
            page=query.offset // query.limit + 1,
            limit=query.limit,
            total=page.total,
            total_pages=-(-page.total // query.limit),
        ),
        facets=_present_facets(page.facets),
    )


def present_hits(page: SkillPage, query: SkillQuery, web_url: str) -> SearchHitsView:
    has_more = page.next_cursor is not None
    return SearchHitsView.of(
        page,
        results=[_present_hit(hit, web_url) for hit in page.hits],
        pagination=SearchPaginationView(limit=query.limit, offset=query.offset, has_more=has_more),
        approximate=page.are_alike,
        facets=_present_facets(page.facets),
    )


def present_catalogue_stats(stats: CatalogueStats) -> CatalogueStatsView:
    queue = stats.queue
    return CatalogueStatsView.of(
        stats.sizes,
        skills=queue.skills,
        by_category={category.value: number for category, number in stats.by_category.items()},
        by_tier={tier.value: number for tier, number in stats.by_tier.items()},
        submissions={"total": queue.total, **{group.value: queue.by_category[group] for group in StateGroup}},
        generated_at=queue.as_of,
    )


def _skill_fields(skill: Skill, web_url: str) -> dict[str, Any]:
    """Return the fields of SkillView. Copied without `View.of`, because lists do this for every row."""
    owner, repo, slug = skill.name.split("/")
    return {
        **dict(zip(SAME_FIELDS, copy_fields(skill), strict=True)),
        "repo_url": repository_url(skill.repository, web_url),
        "owner_slug": owner,
        "repo_slug": repo,
        "skill_slug": slug,
        "cert_tier": skill.tier,
        "cert_method": skill.method,
        "cert_score": skill.score,
        "github_stars": skill.stars,
    }


def _present_listed(listing: Listing, text: tuple[str, str] | None, web_url: str) -> ListedSkillView:
    skill = listing.skill
    return ListedSkillView(
        **_skill_fields(skill, web_url),
        category=skill.category,
        labels=list(skill.labels),
        installs=skill.installs,
        vskill_installs=skill.installs,
        trending_score_7d=skill.trending_7d,
        trending_score_30d=skill.trending_30d,
        provenance_verified=repository_url(skill.repository, web_url) is not None,
        deprecation=present_status_reason(listing.live.deprecation) if listing.live else None,
        content=text[0] if text else None,
        sha=text[1] if text else None,
    )


def _present_fork(fork: Fork, web_url: str) -> ForkView:
    owner, repo, slug = fork.name.split("/")
    return ForkView.of(
        fork,
        owner_slug=owner,
        repo_slug=repo,
        skill_slug=slug,
        repo_url=repository_url(fork.repository, web_url),
        github_stars=fork.stars,
    )


def _present_hit(hit: Hit, web_url: str) -> SkillHitView:
    skill, block = hit.skill, hit.block
    return SkillHitView(
        **_skill_fields(skill, web_url),
        category=skill.category,
        labels=list(skill.labels),
        vskill_installs=skill.installs,
        trending_7d=skill.trending_7d,
        trending_30d=skill.trending_30d,
        alternate_repos=[_present_alternate(each, web_url) for each in hit.listed.alternates],
        is_tainted=False,
        is_blocked=block is not None,
        threat_type=block.threat if block else None,
        severity=block.severity if block else None,
    )


def _present_alternate(name: RepositoryName, web_url: str) -> AlternateView:
    return AlternateView(
        owner_slug=name.owner.lower(), repo_slug=name.name.lower(), repo_url=repository_url(name, web_url)
    )


def _present_facets(facets: Facets) -> FacetsView:
    return FacetsView(
        category=dict(facets.categories) if facets.categories is not None else None,
        tier=dict(facets.tiers) if facets.tiers is not None else None,
        is_exact=facets.are_exact,
    )
