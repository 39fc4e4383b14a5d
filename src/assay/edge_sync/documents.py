"""What the copy must say of some listings, submissions and entries of the blocklist, by the rows as they are now."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.edge.keys import INDEX_KEYS, alias_key, block_key, detail_key, skill_key, submission_key
from assay.edge.values import AliasValue, BlockValue, DetailValue, SkillValue, SubmissionValue, encode
from assay.model.blocklist import BlocklistEntry
from assay.model.listing_status import Standing
from assay.model.skill import Skill
from assay.model.submission import Submission
from assay.store.feed.changes import Change
from assay.store.feed.edge_rows import (
    Details,
    aliases_of,
    blocks_of,
    details_of,
    resolve_aliases,
    skills_of,
    submissions_under_way,
)


@dataclass
class Draft:
    """Values to put and keys to remove; what is put is not removed."""

    puts: dict[str, bytes] = field(default_factory=dict)
    strikes: set[str] = field(default_factory=set)

    def listing(self, skill: Skill, details: Details, serial: int) -> None:
        """A live listing."""
        self.puts[skill_key(skill.name)] = encode(SkillValue(serial=serial, skill=skill))
        detail = DetailValue(
            serial=serial,
            name=skill.name,
            versions=details.versions,
            files=details.files,
            scans=details.scans,
        )
        self.puts[detail_key(skill.name)] = encode(detail)

    def no_listing(self, name: str) -> None:
        """A name under which nothing is listed. The index goes with it: it must not have what was taken down."""
        self.strikes |= {skill_key(name), detail_key(name)} | INDEX_KEYS

    def alias(self, alias: str, names: Sequence[str], serial: int) -> None:
        """Another name, if it leads anywhere."""
        if names:
            value = AliasValue(serial=serial, alias=alias, names=list(names))
            self.puts[alias_key(alias)] = encode(value)
        else:
            self.strikes.add(alias_key(alias))

    def submissions(self, ids: Iterable[UUID], under_way: Iterable[Submission], serial: int) -> None:
        """Those that are under way, and no other."""
        self.strikes |= {submission_key(number) for number in ids}
        for each in under_way:
            self.puts[submission_key(each.id)] = encode(SubmissionValue(serial=serial, submission=each))

    def blocks(self, ids: Iterable[UUID], holding: Iterable[BlocklistEntry], serial: int) -> None:
        """Those that hold, and no other."""
        self.strikes |= {block_key(number) for number in ids}
        for each in holding:
            self.puts[block_key(each.id)] = encode(BlockValue(serial=serial, entry=each))

    @property
    def removals(self) -> set[str]:
        """The keys to remove."""
        return self.strikes - self.puts.keys()


@dataclass(frozen=True)
class Concerned:
    """Whom some changes are about."""

    skills: frozenset[UUID]
    names: frozenset[str]
    submissions: frozenset[UUID]
    blocks: frozenset[UUID]


def concerned_by(changes: Sequence[Change]) -> Concerned:
    """Also the names that listings had, because what stands under those may be theirs no more."""
    said = [change.data for change in changes if change.skill_id is not None]
    names = {name for data in said for name in (data.get("name"), data.get("from")) if isinstance(name, str)}
    entries = (change.data.get("entry") for change in changes)
    return Concerned(
        frozenset(change.skill_id for change in changes if change.skill_id is not None),
        frozenset(names),
        frozenset(change.submission_id for change in changes if change.submission_id is not None),
        frozenset(UUID(entry) for entry in entries if isinstance(entry, str)),
    )


async def draft_changes(db: AsyncConnection, concerned: Concerned, serial: int) -> Draft:
    """The connection must be one snapshot that shows everything up to this serial; it may show more."""
    draft = Draft()
    if concerned.skills:
        skills = await skills_of(db, concerned.skills, concerned.names)
        for name in concerned.names | {skill.name for skill in skills}:
            draft.no_listing(name)
        await draft_listings(db, draft, [each for each in skills if each.standing is Standing.LIVE], serial)
        names = concerned.names | {skill.name for skill in skills}
        await draft_aliases(db, draft, names | await aliases_of(db, [each.id for each in skills]), serial)
        if not any(key in draft.removals for key in map(skill_key, names)):
            draft.strikes -= INDEX_KEYS
    if concerned.submissions:
        draft.submissions(concerned.submissions, await submissions_under_way(db, ids=concerned.submissions), serial)
    if concerned.blocks:
        draft.blocks(concerned.blocks, await blocks_of(db, concerned.blocks), serial)
    return draft


async def draft_listings(db: AsyncConnection, draft: Draft, live: Sequence[Skill], serial: int) -> None:
    """Live listings with their details."""
    details: Mapping[UUID, Details] = await details_of(db, live)
    for skill in live:
        draft.listing(skill, details[skill.id], serial)


async def draft_aliases(db: AsyncConnection, draft: Draft, aliases: Collection[str], serial: int) -> None:
    """Where each of these names leads now."""
    led = await resolve_aliases(db, aliases)
    for alias in aliases:
        draft.alias(alias, led.get(alias, ()), serial)
