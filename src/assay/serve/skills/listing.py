"""A listing with everything that its page and its JSON show."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.deep_scan import DeepScan
from assay.model.moderation import NO_DECISIONS, HumanDecisions
from assay.model.skill import Skill, SkillVersion
from assay.model.source import FileEntry
from assay.model.verdict import Scan
from assay.serve.moderation.human_decisions import read_human_decisions
from assay.serve.skills.catalogue import find_listing
from assay.serve.versions.versions import summarise
from assay.store.repositories.upstream import find_last_seen
from assay.store.scans.contents import find_files
from assay.store.scans.deep_scans import list_deep_scans
from assay.store.scans.scans import list_scans
from assay.store.skills.forks import Fork, find_forks
from assay.store.versions.tags import list_tags
from assay.store.versions.versions import page_versions

MAX_VERSIONS = 100


@dataclass(frozen=True)
class Listing:
    """A live listing with its versions (newest first), their summaries, tags, the files and scans of the live version,
    and its forks.
    """

    skill: Skill
    versions: list[SkillVersion]
    summaries: Mapping[str, str]
    has_more_versions: bool
    tags: Mapping[str, str]
    files: list[FileEntry]
    scans: list[Scan]
    forks: tuple[Fork, ...]
    # None if unknown: the edge copy does not have them.
    deep_scans: list[DeepScan] | None = None
    decisions: HumanDecisions = NO_DECISIONS
    # When upstream was last checked; None for uploads and in degraded mode.
    source_seen_at: datetime | None = None

    @property
    def live(self) -> SkillVersion | None:
        """The live version, if it is among the first MAX_VERSIONS."""
        return next((each for each in self.versions if each.version == self.skill.current_version), None)

    @property
    def canonical(self) -> str:
        """The name of the canonical listing among those with equal content."""
        return self.forks[0].name if self.forks else self.skill.name

    @property
    def alternates(self) -> tuple[Fork, ...]:
        """The other listings with equal content."""
        return tuple(fork for fork in self.forks if fork.name != self.skill.name)


async def read_listing(db: AsyncConnection, name: str) -> Listing:
    """Read a live listing; raises like `find_listing`."""
    skill = await find_listing(db, name)
    found = await page_versions(db, skill.id, before=None, limit=MAX_VERSIONS + 1)
    files = await find_files(db, [skill.content_digest, *(version.content_digest for version in found)])
    forks = await find_forks(db, [skill.content_digest])
    return Listing(
        skill,
        found[:MAX_VERSIONS],
        summarise(found, files),
        len(found) > MAX_VERSIONS,
        await list_tags(db, skill.id),
        files.get(skill.content_digest, []),
        await list_scans(db, skill.content_digest),
        forks.get(skill.content_digest, ()),
        (await list_deep_scans(db, [skill.content_digest])).get(skill.content_digest, []),
        await read_human_decisions(db, skill.id, skill.content_digest, skill.tier),
        await find_last_seen(db, skill.id),
    )
