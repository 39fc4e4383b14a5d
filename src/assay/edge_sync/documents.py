"""The values that the edge copy must hold for given listings, submissions and blocklist entries."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.edge.keys import INDEX_KEYS, alias_key, block_key, detail_key, skill_key, submission_key
from assay.edge.values import AliasValue, BlockValue, DetailValue, SkillValue, SubmissionValue, encode
from assay.model.blocklist import BlocklistEntry
from assay.model.job import Job
from assay.model.skill import ListingStatus, Skill
from assay.model.submission import Submission
from assay.store.feed.changes import Change
from assay.store.feed.edge_rows import (
    Details,
    active_entries,
    aliases_of,
    details_of,
    list_active_submissions,
    resolve_aliases,
    skills_of,
)
from assay.store.queue.order import find_claim_orders


@dataclass
class Draft:
    """Values to put and keys to delete; a key in both is put."""

    puts: dict[str, bytes] = field(default_factory=dict)
    deletes: set[str] = field(default_factory=set)

    def listing(self, skill: Skill, details: Details, serial: int) -> None:
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
        """Delete the listing under a name. Also deletes the index, which must not contain a removed listing."""
        self.deletes |= {skill_key(name), detail_key(name)} | INDEX_KEYS

    def alias(self, alias: str, names: Sequence[str], serial: int) -> None:
        """Put an alias, or delete it if it leads nowhere."""
        if names:
            value = AliasValue(serial=serial, alias=alias, names=list(names))
            self.puts[alias_key(alias)] = encode(value)
        else:
            self.deletes.add(alias_key(alias))

    def submission(self, submission: Submission, job_id: int | None, serial: int) -> None:
        value = SubmissionValue(serial=serial, submission=submission, job_id=job_id)
        self.puts[submission_key(submission.id)] = encode(value)

    def blocks(self, ids: Iterable[UUID], holding: Iterable[BlocklistEntry], serial: int) -> None:
        """Put the entries in force and delete the others of `ids`."""
        self.deletes |= {block_key(number) for number in ids}
        for each in holding:
            self.puts[block_key(each.id)] = encode(BlockValue(serial=serial, entry=each))

    @property
    def effective_deletes(self) -> set[str]:
        return self.deletes - self.puts.keys()


@dataclass(frozen=True)
class ChangedObjects:
    """The objects that some changes are about."""

    skills: frozenset[UUID]
    names: frozenset[str]
    submissions: frozenset[UUID]
    blocks: frozenset[UUID]


def changed_objects(changes: Sequence[Change]) -> ChangedObjects:
    """Include former names of listings, because another listing may have them now."""
    records = [change.data for change in changes if change.skill_id is not None]
    names = {name for data in records for name in (data.get("name"), data.get("from")) if isinstance(name, str)}
    entries = (change.data.get("entry") for change in changes)
    return ChangedObjects(
        frozenset(change.skill_id for change in changes if change.skill_id is not None),
        frozenset(names),
        frozenset(change.submission_id for change in changes if change.submission_id is not None),
        frozenset(UUID(entry) for entry in entries if isinstance(entry, str)),
    )


async def draft_changes(db: AsyncConnection, changed: ChangedObjects, serial: int) -> Draft:
    """Draft the current values of changed objects. The connection must be a snapshot at or after this serial."""
    draft = Draft()
    if changed.skills:
        skills = await skills_of(db, changed.skills, changed.names)
        names = changed.names | {skill.name for skill in skills}
        for name in names:
            draft.no_listing(name)
        await draft_listings(db, draft, [each for each in skills if each.standing is ListingStatus.LIVE], serial)
        await draft_aliases(db, draft, names | await aliases_of(db, [each.id for each in skills]), serial)
        if not any(key in draft.effective_deletes for key in map(skill_key, names)):
            draft.deletes -= INDEX_KEYS
    if changed.submissions:
        draft.deletes |= {submission_key(number) for number in changed.submissions}
        await draft_submissions(db, draft, await list_active_submissions(db, ids=changed.submissions), serial)
    if changed.blocks:
        draft.blocks(changed.blocks, await active_entries(db, changed.blocks), serial)
    return draft


async def draft_submissions(db: AsyncConnection, draft: Draft, active: Sequence[Submission], serial: int) -> None:
    orders = await find_claim_orders(db, [Job(each.id, each.cycle) for each in active])
    for each in active:
        draft.submission(each, orders[each.id].id if each.id in orders else None, serial)


async def draft_listings(db: AsyncConnection, draft: Draft, live: Sequence[Skill], serial: int) -> None:
    details: Mapping[UUID, Details] = await details_of(db, live)
    for skill in live:
        draft.listing(skill, details[skill.id], serial)


async def draft_aliases(db: AsyncConnection, draft: Draft, aliases: Collection[str], serial: int) -> None:
    """Draft each alias with the listings it currently leads to."""
    targets = await resolve_aliases(db, aliases)
    for alias in aliases:
        draft.alias(alias, targets.get(alias, ()), serial)
