"""Versions of a listing: pages, one version by number or tag, and summaries of changed files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.deep_scan import DeepScan
from assay.model.errors import Gone, NotFound
from assay.model.moderation import HumanDecisions
from assay.model.skill import Skill, SkillVersion, VersionStatus
from assay.model.source import FileEntry
from assay.model.verdict import Scan
from assay.serve.cursor import decode_cursor, encode_cursor
from assay.serve.moderation.human_decisions import read_human_decisions
from assay.serve.skills.catalogue import find_any_listing, find_listing
from assay.serve.visibility import WITH_WITHDRAWN, require_visible
from assay.store.scans.contents import find_files
from assay.store.scans.deep_scans import list_deep_scans
from assay.store.scans.scans import list_scans
from assay.store.versions.tags import list_tags
from assay.store.versions.versions import find_version, page_versions

LATEST = "latest"
CURSORS = "versions"


@dataclass(frozen=True)
class VersionsPage:
    """Versions, newest first, with their summaries and the tags of the listing."""

    skill: Skill
    versions: list[SkillVersion]
    summaries: Mapping[str, str]
    tags: Mapping[str, str]
    next_cursor: str | None


@dataclass(frozen=True)
class VersionDetail:
    """A version with its files, scans and tags, and the version before it."""

    skill: Skill
    version: SkillVersion
    tags: tuple[str, ...]
    files: list[FileEntry]
    scans: list[Scan]
    summary: str
    previous: SkillVersion | None
    deep_scans: list[DeepScan]
    decisions: HumanDecisions


async def read_versions(db: AsyncConnection, name: str, *, cursor: str | None, limit: int) -> VersionsPage:
    skill = await find_listing(db, name)
    before = decode_cursor(cursor, f"{CURSORS} {skill.id}", tuple[int])[0] if cursor is not None else None
    # One more than returned, because the summary of a version needs its predecessor.
    found = await page_versions(db, skill.id, before=before, limit=limit + 1)
    page = found[:limit]
    more = encode_cursor(f"{CURSORS} {skill.id}", (page[-1].ordinal,)) if len(found) > limit else None
    return VersionsPage(skill, page, await read_summaries(db, found), await list_tags(db, skill.id), more)


async def read_version(db: AsyncConnection, name: str, selector: str) -> VersionDetail:
    """Read a version; raises like `choose_version`."""
    skill, version = await choose_version(db, name, selector)
    around = await page_versions(db, skill.id, before=version.ordinal, limit=1)
    tags = await list_tags(db, skill.id)
    files = await find_files(db, [each.content_digest for each in (version, *around)])
    return VersionDetail(
        skill,
        version,
        tuple(tag for tag, tagged in tags.items() if tagged == version.version),
        files.get(version.content_digest, []),
        await list_scans(db, version.content_digest),
        summarise([version, *around], files)[version.version],
        around[0] if around else None,
        (await list_deep_scans(db, [version.content_digest])).get(version.content_digest, []),
        await read_human_decisions(db, skill.id, version.content_digest, version.tier),
    )


async def choose_version(db: AsyncConnection, name: str, selector: str) -> tuple[Skill, SkillVersion]:
    """Return the version for a number, a tag or `latest`.

    A yanked version is returned only for its exact number, even if no other version is left; a withdrawn version never
    is. Raises NotFound, or Gone with the reason.
    """
    skill = await find_any_listing(db, name)
    require_visible(skill, WITH_WITHDRAWN)
    exact = await find_version(db, skill.id, selector) if "\x00" not in selector else None
    if exact is None:
        require_visible(skill)
    chosen = exact or await _by_tag(db, skill, selector)
    if chosen.status is VersionStatus.WITHDRAWN or (chosen.status is VersionStatus.YANKED and exact is None):
        raise gone_version(skill, chosen)
    return skill, chosen


def gone_version(skill: Skill, version: SkillVersion) -> Gone:
    """Return the error for a version that is not available."""
    why = version.remark.message if version.remark else "no reason was recorded"
    details = {"reason": version.remark.message, "since": version.remark.at} if version.remark else {}
    return Gone(
        f"{skill.name} {version.version} is {version.status}: {why}", code=f"version_{version.status}", **details
    )


def summarise(versions: Sequence[SkillVersion], files: Mapping[str, Sequence[FileEntry]]) -> dict[str, str]:
    """Summarise the changes of each version, newest first, against the next in the list; the last counts as the first
    version.
    """
    older = [*versions[1:], None]
    return {
        version.version: summary_of(
            files.get(before.content_digest, []) if before else None, files.get(version.content_digest, [])
        )
        for version, before in zip(versions, older, strict=True)
    }


async def read_summaries(db: AsyncConnection, versions: Sequence[SkillVersion]) -> dict[str, str]:
    """Like `summarise`, reading the files."""
    return summarise(versions, await find_files(db, [version.content_digest for version in versions]))


def summary_of(before: Sequence[FileEntry] | None, after: Sequence[FileEntry]) -> str:
    """Return a line that names the changed files, for example `SKILL.md changed, 2 files added`."""
    if before is None:
        return "First version"
    old, new = ({file.path: file.sha256 for file in files} for files in (before, after))
    parts = [
        ("added", sorted(new.keys() - old.keys())),
        ("changed", sorted(path for path in old.keys() & new.keys() if old[path] != new[path])),
        ("removed", sorted(old.keys() - new.keys())),
    ]
    parts_changed = [
        f"{paths[0]} {verb}" if len(paths) == 1 else f"{len(paths)} files {verb}" for verb, paths in parts if paths
    ]
    return ", ".join(parts_changed) or "No file changed"


async def _by_tag(db: AsyncConnection, skill: Skill, selector: str) -> SkillVersion:
    version = skill.current_version if selector == LATEST else (await list_tags(db, skill.id)).get(selector)
    found = await find_version(db, skill.id, version) if version is not None else None
    if found is None:
        raise NotFound(f"{skill.name} has no version {selector[:100]}.", code="version_not_found")
    return found
