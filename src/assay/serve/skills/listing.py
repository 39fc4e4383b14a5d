"""One listing with everything that its page and its JSON show."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.deep_scan import DeepScan
from assay.model.human_decisions import NOTHING_SAID, Said
from assay.model.scan import Scan
from assay.model.skill import Skill, SkillVersion
from assay.model.source import FileEntry
from assay.serve.moderation.human_decisions import read_said
from assay.serve.skills.catalogue import find_listing
from assay.serve.versions.versions import summarise
from assay.store.repositories.upstream import when_seen
from assay.store.scans.contents import find_files
from assay.store.scans.deep_scans import list_deep_scans
from assay.store.scans.scans import list_scans
from assay.store.skills.forks import Fork, find_forks
from assay.store.skills.skills import page_versions
from assay.store.versions.status import list_tags

MOST_VERSIONS = 100


@dataclass(frozen=True)
class Listing:
    """A live listing: its versions (newest first) with what each changed, its tags, the files and scans of the live
    version, and the listings of the same bytes.
    """

    skill: Skill
    versions: list[SkillVersion]
    summaries: Mapping[str, str]
    has_more_versions: bool
    tags: Mapping[str, str]
    files: list[FileEntry]
    scans: list[Scan]
    forks: tuple[Fork, ...]
    # Not in the copy at the edge, which therefore does not know.
    deep_scans: list[DeepScan] | None = None
    said: Said = NOTHING_SAID
    # When it was last compared with its source; None if it has none, or from the copy.
    source_seen_at: datetime | None = None

    @property
    def live(self) -> SkillVersion | None:
        """The live version, if it is among those that are shown."""
        return next((each for each in self.versions if each.version == self.skill.current_version), None)

    @property
    def canonical(self) -> str:
        """The name of the listing to prefer among those of the same bytes."""
        return self.forks[0].name if self.forks else self.skill.name

    @property
    def alternates(self) -> tuple[Fork, ...]:
        """The other listings of the same bytes."""
        return tuple(fork for fork in self.forks if fork.name != self.skill.name)


async def read_listing(db: AsyncConnection, name: str) -> Listing:
    """One live listing with all that is known of it; see `find_listing`."""
    skill = await find_listing(db, name)
    found = await page_versions(db, skill.id, before=None, limit=MOST_VERSIONS + 1)
    files = await find_files(db, [skill.content_digest, *(version.content_digest for version in found)])
    forks = await find_forks(db, [skill.content_digest])
    return Listing(
        skill,
        found[:MOST_VERSIONS],
        summarise(found, files),
        len(found) > MOST_VERSIONS,
        await list_tags(db, skill.id),
        files.get(skill.content_digest, []),
        await list_scans(db, skill.content_digest),
        forks.get(skill.content_digest, ()),
        (await list_deep_scans(db, [skill.content_digest])).get(skill.content_digest, []),
        await read_said(db, skill.id, skill.content_digest, skill.tier),
        await when_seen(db, skill.id),
    )
