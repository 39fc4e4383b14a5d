"""Rebuilds the edge copy from the tables, in bounded memory, while the registry is running.

Each batch is one snapshot and one write under the projector's lock; the projector works between batches. An interrupted
rebuild resumes at its last batch, because the projector applies the changes since then anyway.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeVar
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.edge.enumerate import UnreadableKeys, read_value
from assay.edge.index import write_index
from assay.edge.keys import ALIAS, BLOCK, DETAIL, INDEX_KEYS, REBUILD, SKILL, STATE, SUBMISSION
from assay.edge.kv import Edge, Item, prefix_range
from assay.edge.state import read_rebuild, read_state
from assay.edge.values import (
    AliasValue,
    BlockValue,
    DetailValue,
    EdgeValue,
    RebuildValue,
    SkillValue,
    StateValue,
    SubmissionValue,
    encode,
    values_schema_digest,
)
from assay.edge_sync.documents import Draft, draft_aliases, draft_listings, draft_submissions
from assay.model.errors import Conflict, Unavailable
from assay.model.skill import Skill
from assay.store.database.database import Database
from assay.store.feed.changes import newest_serial
from assay.store.feed.edge_rows import (
    active_entries,
    aliases_of,
    count_orphaned_aliases,
    keep_transaction_alive,
    known_names,
    list_active_submissions,
    live_names,
    live_skills,
    resolve_aliases,
    try_lock_rebuild,
    wait_for_copy,
)
from assay.store.moderation.blocklist import list_blocklist

log = structlog.get_logger()
ValueT = TypeVar("ValueT", bound=EdgeValue)
BATCH = 500
TRIES = 10
# In batches.
LOG_EVERY = 20
# An interrupted rebuild older than this starts over.
RESUMABLE = timedelta(hours=1)
LISTINGS, SUBMISSIONS, BLOCKS = "listings", "submissions", "blocklist"
SWEEPS = {f"sweep {prefix}": prefix for prefix in (SKILL, DETAIL, ALIAS, SUBMISSION, BLOCK)}
STAGES = (LISTINGS, SUBMISSIONS, BLOCKS, *SWEEPS)


class Backfill(Protocol):
    """Submits listings that only the copy has; returns the number of new submissions."""

    async def __call__(self, lost: Sequence[Skill]) -> int: ...


@dataclass(frozen=True, slots=True)
class RebuildResult:
    """The numbers of listings written, unreadable values, orphaned aliases and backfilled submissions."""

    rebuilt: int
    errors: int
    orphaned_aliases: int
    backfilled: int


async def rebuild(
    store: Database,
    edge: Edge,
    now: Callable[[], datetime],
    *,
    backfill: Backfill | None = None,
    progress: Callable[[RebuildValue], None] = lambda _: None,
) -> RebuildResult:
    """Rebuild the copy, resuming an interrupted rebuild. Raises Conflict if another rebuild is running.

    Without `backfill`, listings unknown to the tables stay in the copy, so that they can still be resubmitted.
    """
    async with _exclusive(store, edge) as keep_lock:
        if await _has_unusable_serial(store, edge):
            await _set_serial(store, edge)
        work, steps = _Rebuild(store, edge, now, backfill, await _begin(edge, now())), 0
        while work.at.stage != "":
            await keep_lock()
            stage = work.at.stage
            await work.step()
            progress(work.at)
            steps += 1
            if stage != work.at.stage or steps % LOG_EVERY == 0:
                log.info("Edge copy rebuild progress", stage=stage, rebuilt=work.at.rebuilt, errors=work.at.errors)
        return await work.finish()


class _Rebuild:
    """The stages of a rebuild, each processed in batches; `at` is the progress."""

    def __init__(
        self,
        store: Database,
        edge: Edge,
        now: Callable[[], datetime],
        backfill: Backfill | None,
        at: RebuildValue,
    ) -> None:
        self._store, self._edge, self._now, self._backfill, self.at = store, edge, now, backfill, at

    async def step(self) -> None:
        """Process the next batch; repeated with fresh rows if the copy changed meanwhile."""
        for _ in range(TRIES):
            serial = await self._edge.read_serial()
            async with self._store.begin() as db:
                await wait_for_copy(db, self._edge.identity)
                if serial != await self._edge.read_serial():
                    continue
                draft, at = await self._batch(db, serial)
                draft.puts[REBUILD] = encode(at)
                if await self._edge.write(draft.puts, draft.effective_deletes, since=serial, serial=serial):
                    self.at = at
                    return
        raise Unavailable("The edge copy changes too fast to be rebuilt.", code="edge_busy", retry_after_seconds=5)

    async def finish(self) -> RebuildResult:
        """Mark the copy as complete and write its index."""
        async with self._store.begin() as db:
            orphaned = self.at.orphaned_aliases + await count_orphaned_aliases(db)
        for _ in range(TRIES):
            serial = await self._edge.read_serial()
            state = StateValue(serial=serial, as_of=self.at.started_at, form=values_schema_digest())
            if await self._edge.write({STATE: encode(state)}, {REBUILD}, since=serial, serial=serial):
                break
        await write_index(self._edge, self._now())
        done = RebuildResult(self.at.rebuilt, self.at.errors, orphaned, self.at.backfilled)
        log.info("Rebuilt edge copy", rebuilt=done.rebuilt, errors=done.errors, backfilled=done.backfilled)
        return done

    async def _batch(self, db: AsyncConnection, serial: int) -> tuple[Draft, RebuildValue]:
        match self.at.stage:
            case "listings":
                return await self._listings(db, serial)
            case "submissions":
                return await self._submissions(db, serial)
            case "blocklist":
                return await self._blocks(db, serial)
            case sweep:
                return await self._sweep(db, SWEEPS[sweep], serial)

    async def _listings(self, db: AsyncConnection, serial: int) -> tuple[Draft, RebuildValue]:
        draft = Draft()
        skills = await live_skills(db, _id(self.at.after), BATCH)
        await draft_listings(db, draft, skills, serial)
        await draft_aliases(db, draft, await aliases_of(db, [each.id for each in skills]), serial)
        cursor = skills[-1].id if len(skills) == BATCH else None
        return draft, self._advance(cursor, serial, rebuilt=len(skills))

    async def _submissions(self, db: AsyncConnection, serial: int) -> tuple[Draft, RebuildValue]:
        draft = Draft()
        found = await list_active_submissions(db, after=_id(self.at.after), limit=BATCH)
        await draft_submissions(db, draft, found, serial)
        return draft, self._advance(found[-1].id if len(found) == BATCH else None, serial)

    async def _blocks(self, db: AsyncConnection, serial: int) -> tuple[Draft, RebuildValue]:
        draft = Draft()
        found = await list_blocklist(db, after=_id(self.at.after), limit=BATCH)
        draft.blocks((), found, serial)
        return draft, self._advance(found[-1].id if len(found) == BATCH else None, serial)

    async def _sweep(self, db: AsyncConnection, prefix: str, serial: int) -> tuple[Draft, RebuildValue]:
        """Delete keys that the tables do not have. Earlier stages rewrote all others, so they are readable."""
        page = await self._edge.page(prefix_range(prefix), after=self.at.after, limit=BATCH)
        unreadable, draft = UnreadableKeys(), Draft()
        wrong, lost = await _find_wrong(db, prefix, page.items, unreadable)
        if self._backfill is None:
            wrong -= lost.keys()
        draft.deletes |= wrong | set(unreadable.keys)
        if prefix == SKILL and draft.deletes:
            draft.deletes |= INDEX_KEYS
        backfilled = await self._backfill(list(lost.values())) if self._backfill is not None and lost else 0
        orphaned = len(wrong) if prefix == ALIAS else 0
        at = self._advance(
            page.next_cursor, serial, errors=unreadable.number, orphaned_aliases=orphaned, backfilled=backfilled
        )
        return draft, at

    def _advance(self, cursor: UUID | str | None, serial: int, **more: int) -> RebuildValue:
        """Return the progress after this batch; without a cursor the stage is done."""
        at = self.at
        following = dict(zip(STAGES, [*STAGES[1:], ""], strict=True))
        numbers = {name: getattr(at, name) + number for name, number in more.items()}
        fields = {name: getattr(at, name) for name in at.__struct_fields__} | numbers
        position = {"stage": at.stage if cursor else following[at.stage], "after": str(cursor) if cursor else None}
        return RebuildValue(**fields | position | {"serial": serial, "updated_at": self._now()})


async def _find_wrong(
    db: AsyncConnection, prefix: str, items: Sequence[Item], unreadable: UnreadableKeys
) -> tuple[set[str], dict[str, Skill]]:
    """Return the keys to delete, and those of them whose listings are unknown to the tables."""
    match prefix:
        case "skill:":
            return await _find_wrong_skills(db, items, unreadable)
        case "detail:":
            names = {key: value.name for key, value in _read(items, DetailValue, unreadable)}
            live = await live_names(db, set(names.values()))
            return {key for key, name in names.items() if name not in live}, {}
        case "alias:":
            aliases = {key: value.alias for key, value in _read(items, AliasValue, unreadable)}
            targets = await resolve_aliases(db, set(aliases.values()))
            return {key for key, alias in aliases.items() if alias not in targets}, {}
        case "sub:":
            ids = {key: value.submission.id for key, value in _read(items, SubmissionValue, unreadable)}
            active = {each.id for each in await list_active_submissions(db, ids=ids.values())}
            return {key for key, number in ids.items() if number not in active}, {}
        case _:
            entries = {key: value.entry.id for key, value in _read(items, BlockValue, unreadable)}
            in_force = {each.id for each in await active_entries(db, entries.values())}
            return {key for key, number in entries.items() if number not in in_force}, {}


async def _find_wrong_skills(
    db: AsyncConnection, items: Sequence[Item], unreadable: UnreadableKeys
) -> tuple[set[str], dict[str, Skill]]:
    skills = {key: value.skill for key, value in _read(items, SkillValue, unreadable)}
    names = {skill.name for skill in skills.values()}
    live, known = await live_names(db, names), await known_names(db, names)
    wrong = {key for key, skill in skills.items() if skill.name not in live}
    return wrong, {key: skills[key] for key in sorted(wrong) if skills[key].name not in known}


def _read(items: Sequence[Item], kind: type[ValueT], unreadable: UnreadableKeys) -> list[tuple[str, ValueT]]:
    values = [(item.key, read_value(item, kind, unreadable)) for item in items]
    return [(key, value) for key, value in values if value is not None]


@asynccontextmanager
async def _exclusive(store: Database, edge: Edge) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Hold the rebuild lock; yields a function that keeps its connection alive. Writes nothing, so no serial waits."""
    async with store.begin() as guard:
        if not await try_lock_rebuild(guard, edge.identity):
            raise Conflict(
                "The edge copy is already being rebuilt. Try again when that has finished.", code="rebuild_under_way"
            )
        yield lambda: keep_transaction_alive(guard)


async def _begin(edge: Edge, now: datetime) -> RebuildValue:
    """Return the progress of a recently interrupted rebuild, or a new start."""
    interrupted = await read_rebuild(edge)
    if interrupted is not None and interrupted.stage in STAGES and now - interrupted.updated_at < RESUMABLE:
        log.info("Resuming edge copy rebuild", stage=interrupted.stage, rebuilt=interrupted.rebuilt)
        return interrupted
    return RebuildValue(
        serial=0,
        stage=LISTINGS,
        after=None,
        rebuilt=0,
        errors=0,
        orphaned_aliases=0,
        backfilled=0,
        started_at=now,
        updated_at=now,
    )


async def _has_unusable_serial(store: Database, edge: Edge) -> bool:
    """Return whether the copy is of another schema, or ahead of a database that was restored from an older state."""
    state = await read_state(edge)
    async with store.begin() as db:
        return (
            state is None or state.form != values_schema_digest() or await edge.read_serial() > await newest_serial(db)
        )


async def _set_serial(store: Database, edge: Edge) -> None:
    """Set the copy to the newest serial, for the projector to follow; the rebuild starts over and covers the rest."""
    async with store.begin() as db:
        await wait_for_copy(db, edge.identity)
        since, newest = await edge.read_serial(), await newest_serial(db)
        state = StateValue(serial=newest, as_of=None, form=values_schema_digest())
        await edge.write({STATE: encode(state)}, {REBUILD}, since=since, serial=newest)


def _id(after: str | None) -> UUID | None:
    return UUID(after) if after is not None else None
