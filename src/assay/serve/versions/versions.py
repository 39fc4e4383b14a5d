"""The versions of a listing: pages of them, one of them by number or tag, and what changed from one to the next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.deep_scan import DeepScan
from assay.model.errors import Gone, NotFound
from assay.model.human_decisions import Said
from assay.model.listing_status import Standing, VersionStatus
from assay.model.scan import Scan
from assay.model.skill import Skill, SkillVersion
from assay.model.source import FileEntry
from assay.serve.cursor import decode_cursor, encode_cursor
from assay.serve.moderation.human_decisions import read_said
from assay.serve.skills.catalogue import find_any_listing, find_listing, gone_skill
from assay.store.scans.contents import find_files
from assay.store.scans.deep_scans import list_deep_scans
from assay.store.scans.scans import list_scans
from assay.store.skills.skills import find_version, page_versions
from assay.store.versions.status import list_tags

LATEST = "latest"
CURSORS = "versions"


@dataclass(frozen=True)
class VersionsPage:
    """Versions, newest first; what each of them changed; and the tags of the listing."""

    skill: Skill
    versions: list[SkillVersion]
    summaries: Mapping[str, str]
    tags: Mapping[str, str]
    next_cursor: str | None


@dataclass(frozen=True)
class VersionDetail:
    """One version with its files and scans, the tags that point to it, and the versions around it."""

    skill: Skill
    version: SkillVersion
    tags: tuple[str, ...]
    files: list[FileEntry]
    scans: list[Scan]
    summary: str
    previous: SkillVersion | None
    deep_scans: list[DeepScan]
    said: Said


async def read_versions(db: AsyncConnection, name: str, *, cursor: str | None, limit: int) -> VersionsPage:
    """A page of the versions of a live listing."""
    skill = await find_listing(db, name)
    before = decode_cursor(cursor, f"{CURSORS} {skill.id}", tuple[int])[0] if cursor is not None else None
    # One more than is shown, because what a version changed is told by the one before it.
    found = await page_versions(db, skill.id, before=before, limit=limit + 1)
    page = found[:limit]
    more = encode_cursor(f"{CURSORS} {skill.id}", (page[-1].ordinal,)) if len(found) > limit else None
    return VersionsPage(skill, page, await read_summaries(db, found), await list_tags(db, skill.id), more)


async def read_version(db: AsyncConnection, name: str, wanted: str) -> VersionDetail:
    """One version of a listing with all that is known of it; see `choose_version`."""
    skill, version = await choose_version(db, name, wanted)
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
        await read_said(db, skill.id, version.content_digest, version.tier),
    )


async def choose_version(db: AsyncConnection, name: str, wanted: str) -> tuple[Skill, SkillVersion]:
    """The version that is meant by a number, by a tag, or by `latest`.

    What is yanked is given to whoever asks for exactly it, even if no other version is left; what is withdrawn, to
    nobody. Raises NotFound, or Gone with the reason.
    """
    skill = await find_any_listing(db, name)
    if skill.standing not in (Standing.LIVE, Standing.WITHDRAWN):
        raise gone_skill(skill)
    exact = await find_version(db, skill.id, wanted) if "\x00" not in wanted else None
    if exact is None and skill.standing is not Standing.LIVE:
        raise gone_skill(skill)
    chosen = exact or await _by_tag(db, skill, wanted)
    if chosen.status is VersionStatus.WITHDRAWN or (chosen.status is VersionStatus.YANKED and exact is None):
        raise gone_version(skill, chosen)
    return skill, chosen


def gone_version(skill: Skill, version: SkillVersion) -> Gone:
    """What is told about a version that is not given."""
    why = version.remark.message if version.remark else "no reason is known"
    details = {"reason": version.remark.message, "since": version.remark.at} if version.remark else {}
    return Gone(
        f"{skill.name} {version.version} is {version.status}: {why}", code=f"version_{version.status}", **details
    )


def summarise(versions: Sequence[SkillVersion], files: Mapping[str, Sequence[FileEntry]]) -> dict[str, str]:
    """What each of these versions, newest first, changed in the one after it in the list, which is the one before it;
    the last of the list counts as the first of all.
    """
    older = [*versions[1:], None]
    return {
        version.version: summary_of(
            files.get(before.content_digest, []) if before else None, files.get(version.content_digest, [])
        )
        for version, before in zip(versions, older, strict=True)
    }


async def read_summaries(db: AsyncConnection, versions: Sequence[SkillVersion]) -> dict[str, str]:
    """The same, with the files looked up."""
    return summarise(versions, await find_files(db, [version.content_digest for version in versions]))


def summary_of(before: Sequence[FileEntry] | None, after: Sequence[FileEntry]) -> str:
    """A line that says which files changed."""
    if before is None:
        return "First version"
    old, new = ({file.path: file.sha256 for file in files} for files in (before, after))
    parts = [
        ("added", sorted(new.keys() - old.keys())),
        ("changed", sorted(path for path in old.keys() & new.keys() if old[path] != new[path])),
        ("removed", sorted(old.keys() - new.keys())),
    ]
    said = [f"{paths[0]} {verb}" if len(paths) == 1 else f"{len(paths)} files {verb}" for verb, paths in parts if paths]
    return ", ".join(said) or "No file changed"


async def _by_tag(db: AsyncConnection, skill: Skill, wanted: str) -> SkillVersion:
    version = skill.current_version if wanted == LATEST else (await list_tags(db, skill.id)).get(wanted)
    found = await find_version(db, skill.id, version) if version is not None else None
    if found is None:
        raise NotFound(f"{skill.name} has no version {wanted[:100]}.", code="version_not_found")
    return found
