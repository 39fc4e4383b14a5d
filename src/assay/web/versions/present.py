"""From listings with their versions to their JSON."""

from collections.abc import Mapping
from typing import Any

from assay.model.listing_status import Remark
from assay.model.repository import Host
from assay.model.skill import Skill, SkillVersion
from assay.model.source import FileEntry
from assay.serve.skills.listing import Listing
from assay.serve.versions.compare import FileChange, Pair, unified
from assay.serve.versions.versions import VersionDetail, VersionsPage
from assay.store.skills.forks import Fork
from assay.web.http.json import FileView
from assay.web.http.present import present_capabilities, present_scan, present_skill, repository_url
from assay.web.scans.deep_scan_json import present_deep_scans
from assay.web.versions.approval_json import present_approval
from assay.web.versions.json import (
    CapabilityChangesView,
    CompareView,
    DiffView,
    FileChangeView,
    ForkView,
    ListedSkillView,
    ListingView,
    RemarkView,
    StandingView,
    VersionDetailView,
    VersionEntryView,
    VersionsView,
)


def present_listing(
    listing: Listing, text: tuple[str, str] | None, web_url: str, ruleset: str, *, is_trusted: bool
) -> ListingView:
    """A listing with its versions, files and scans, which are held against the ruleset of now; `text` is its SKILL.md
    and the hash of that, if they can be had.
    """
    return ListingView(
        skill=_present_listed(listing, text, web_url),
        trusted_publisher=is_trusted,
        versions=present_entries(listing.versions, listing.summaries),
        tags=dict(listing.tags),
        files=present_files(listing.files),
        scans=[present_scan(scan, ruleset, listing.said) for scan in listing.scans],
        deep_scans=present_deep_scans(listing.deep_scans),
        review=present_approval(listing.said.review),
        canonical=listing.canonical,
        alternates=[present_fork(fork, web_url) for fork in listing.alternates],
        source_seen_at=listing.source_seen_at,
    )


def present_fork(fork: Fork, web_url: str) -> ForkView:
    """Another listing of the same bytes."""
    owner, repo, slug = fork.name.split("/")
    return ForkView(
        name=fork.name,
        owner_slug=owner,
        repo_slug=repo,
        skill_slug=slug,
        repo_url=repository_url(fork.repository, web_url),
        github_stars=fork.stars,
    )


def present_versions(page: VersionsPage) -> VersionsView:
    """A page of versions."""
    return VersionsView(
        name=page.skill.name,
        current_version=page.skill.current_version,
        versions=present_entries(page.versions, page.summaries),
        tags=dict(page.tags),
        next_cursor=page.next_cursor,
    )


def present_entries(versions: list[SkillVersion], summaries: Mapping[str, str]) -> list[VersionEntryView]:
    """Versions with what each changed."""
    return [present_entry(version, summaries[version.version]) for version in versions]


def present_entry(version: SkillVersion, summary: str) -> VersionEntryView:
    """One version of a list."""
    return VersionEntryView(**_entry_fields(version, summary))


def present_version(detail: VersionDetail, text: tuple[str, str], ruleset: str) -> VersionDetailView:
    """One version with everything; its scans are held against the ruleset of now."""
    return VersionDetailView(
        **_entry_fields(detail.version, detail.summary),
        name=detail.skill.name,
        previous=detail.previous.version if detail.previous else None,
        tags=list(detail.tags),
        files=present_files(detail.files),
        scans=[present_scan(scan, ruleset, detail.said) for scan in detail.scans],
        deep_scans=present_deep_scans(detail.deep_scans),
        review=present_approval(detail.said.review),
        content=text[0],
        sha=text[1],
    )


def present_files(files: list[FileEntry]) -> list[FileView]:
    """Files by name, size and hash."""
    return [FileView(path=file.path, size=file.size, sha256=file.sha256) for file in files]


def present_diff(pair: Pair, changes: list[FileChange]) -> DiffView:
    """Two versions as one text."""
    return DiffView(
        source="local-content",
        from_version=pair.before.version,
        to_version=pair.after.version,
        diff_summary=pair.summary,
        content_diff=unified(changes),
    )


def present_comparison(pair: Pair, changes: list[FileChange], web_url: str) -> CompareView:
    """Two versions, file by file."""
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


def compare_url(pair: Pair, web_url: str) -> str | None:
    """Where GitHub shows the same."""
    url = repository_url(pair.skill.repository, web_url)
    is_there = url is not None and pair.skill.repository.host is Host.GITHUB
    return f"{url}/compare/{pair.before.commit}...{pair.after.commit}" if is_there else None


def present_standing(skill: Skill) -> StandingView:
    """Where a listing stands."""
    return StandingView(
        name=skill.name,
        standing=skill.standing,
        reason=present_remark(skill.remark),
        current_version=skill.current_version,
    )


def present_remark(remark: Remark | None) -> RemarkView | None:
    """Why, without who."""
    return RemarkView(code=remark.code, message=remark.message, at=remark.at) if remark else None


def _present_listed(listing: Listing, text: tuple[str, str] | None, web_url: str) -> ListedSkillView:
    skill = listing.skill
    plain = present_skill(skill, web_url)
    return ListedSkillView(
        **{name: getattr(plain, name) for name in plain.__struct_fields__}
        | {
            "category": skill.category,
            "labels": list(skill.labels),
            "installs": skill.installs,
            "vskill_installs": skill.installs,
            "trending_score_7d": skill.trending_7d,
            "trending_score_30d": skill.trending_30d,
            "provenance_verified": plain.repo_url is not None,
            "deprecation": present_remark(listing.live.deprecation) if listing.live else None,
            "content": text[0] if text else None,
            "sha": text[1] if text else None,
        }
    )


def _entry_fields(version: SkillVersion, summary: str) -> dict[str, Any]:
    return {
        "version": version.version,
        "status": version.status,
        "reason": present_remark(version.remark),
        "deprecated": version.deprecation is not None,
        "deprecation": present_remark(version.deprecation),
        "cert_tier": version.tier,
        "cert_score": version.score,
        "published_at": version.published_at,
        "created_at": version.published_at,
        "content_digest": version.content_digest,
        "content_hash": version.content_digest,
        "hallmark": dict(version.hallmark),
        "commit": version.commit,
        "diff_summary": summary,
    }


def present_change(change: FileChange) -> FileChangeView:
    """A file that differs."""
    return FileChangeView(
        filename=change.path,
        status=change.status,
        additions=change.additions,
        deletions=change.deletions,
        patch=change.patch,
        previous_filename=change.former_path,
        binary=change.is_binary,
    )
