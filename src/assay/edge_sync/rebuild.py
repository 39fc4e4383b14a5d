"""Makes the copy anew from the tables, in bounded memory, beside everything else that goes on.

Each batch is one snapshot and one write under the lock of the projector, which works in between. A rebuild that was
killed is gone on with from its last batch: what changed since is taken over by the projector anyway.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, TypeVar
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.edge.enumerate import Tally, read_value
from assay.edge.index import write_index
from assay.edge.keys import ALIAS, BLOCK, DETAIL, INDEX_KEYS, REBUILD, SKILL, STATE, SUBMISSION
from assay.edge.kv import Edge, Item, below
from assay.edge.state import read_rebuild, read_state
from assay.edge.values import (
    AliasValue,
    BlockValue,
    DetailValue,
    RebuildValue,
    SkillValue,
    StateValue,
    SubmissionValue,
    Value,
    encode,
    form_of_values,
)
from assay.edge_sync.documents import Draft, draft_aliases, draft_listings
from assay.model.errors import Conflict, Unavailable
from assay.model.skill import Skill
from assay.store.database.database import Database
from assay.store.feed.changes import newest_serial
from assay.store.feed.edge_rows import (
    aliases_of,
    blocks_of,
    count_orphaned_aliases,
    known_names,
    live_names,
    live_skills,
    lock_rebuild,
    resolve_aliases,
    stay_awake,
    submissions_under_way,
    wait_for_copy,
)
from assay.store.moderation.blocklist import list_blocklist

log = structlog.get_logger()
Kind = TypeVar("Kind", bound=Value)
BATCH = 500
TRIES = 10
# Batches.
LOG_EVERY = 20
# A rebuild that stopped longer ago is begun again.
RESUMABLE = timedelta(hours=1)
LISTINGS, SUBMISSIONS, BLOCKS = "listings", "submissions", "blocklist"
SWEEPS = {f"sweep {prefix}": prefix for prefix in (SKILL, DETAIL, ALIAS, SUBMISSION, BLOCK)}
STAGES = (LISTINGS, SUBMISSIONS, BLOCKS, *SWEEPS)


class Backfill(Protocol):
    """Submits listings that only the copy knows; returns how many are new."""

    async def __call__(self, lost: Sequence[Skill]) -> int: ...


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What came of it: listings written, values that could not be read, names that lead nowhere, what was submitted."""

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
) -> Rebuilt:
    """Make everything in the copy what the tables say. Raises Conflict if somebody else is at it.

    Without `backfill`, listings of which the tables know nothing stay: somebody may still want to submit them again.
    """
    async with _alone(store, edge) as keep:
        if await _has_nothing_to_go_on_from(store, edge):
            await _set_serial(store, edge)
        work, steps = _Rebuild(store, edge, now, backfill, await _begin(edge, now())), 0
        while work.at.stage != "":
            await keep()
            stage = work.at.stage
            await work.step()
            progress(work.at)
            steps += 1
            if stage != work.at.stage or steps % LOG_EVERY == 0:
                log.info("Rebuilding the edge copy", stage=stage, rebuilt=work.at.rebuilt, errors=work.at.errors)
        return await work.finish()


class _Rebuild:
    """The stages, each a list that is gone through in batches."""

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
        """The next batch. Done again with fresh rows if the copy moved on meanwhile."""
        for _ in range(TRIES):
            serial = await self._edge.read_serial()
            async with self._store.begin() as db:
                await wait_for_copy(db, self._edge.identity)
                if serial != await self._edge.read_serial():
                    continue
                draft, at = await self._batch(db, serial)
                draft.puts[REBUILD] = encode(at)
                if await self._edge.write(draft.puts, draft.removals, since=serial, serial=serial):
                    self.at = at
                    return
        raise Unavailable("The edge copy changes too fast to be made anew.", code="edge_busy", retry_after_seconds=5)

    async def finish(self) -> Rebuilt:
        """Say that the copy is whole, and make its index."""
        async with self._store.begin() as db:
            orphaned = self.at.orphaned_aliases + await count_orphaned_aliases(db)
        for _ in range(TRIES):
            serial = await self._edge.read_serial()
            state = StateValue(serial=serial, as_of=self.at.started_at, form=form_of_values())
            if await self._edge.write({STATE: encode(state)}, {REBUILD}, since=serial, serial=serial):
                break
        await write_index(self._edge, self._now())
        done = Rebuilt(self.at.rebuilt, self.at.errors, orphaned, self.at.backfilled)
        log.info("The edge copy is made anew", rebuilt=done.rebuilt, errors=done.errors, backfilled=done.backfilled)
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
        onward = skills[-1].id if len(skills) == BATCH else None
        return draft, self._moved(onward, serial, rebuilt=len(skills))

    async def _submissions(self, db: AsyncConnection, serial: int) -> tuple[Draft, RebuildValue]:
        draft = Draft()
        found = await submissions_under_way(db, after=_id(self.at.after), limit=BATCH)
        draft.submissions((), found, serial)
        return draft, self._moved(found[-1].id if len(found) == BATCH else None, serial)

    async def _blocks(self, db: AsyncConnection, serial: int) -> tuple[Draft, RebuildValue]:
        draft = Draft()
        found = await list_blocklist(db, after=_id(self.at.after), limit=BATCH)
        draft.blocks((), found, serial)
        return draft, self._moved(found[-1].id if len(found) == BATCH else None, serial)

    async def _sweep(self, db: AsyncConnection, prefix: str, serial: int) -> tuple[Draft, RebuildValue]:
        """Remove what the tables do not have. Everything that they have was written before, so it can be read."""
        page = await self._edge.page(below(prefix), after=self.at.after, limit=BATCH)
        tally, draft = Tally(), Draft()
        wrong, lost = await _judge(db, prefix, page.items, tally)
        if self._backfill is None:
            wrong -= lost.keys()
        draft.strikes |= wrong | set(tally.keys)
        if prefix == SKILL and draft.strikes:
            draft.strikes |= INDEX_KEYS
        backfilled = await self._backfill(list(lost.values())) if self._backfill is not None and lost else 0
        orphaned = len(wrong) if prefix == ALIAS else 0
        at = self._moved(
            page.next_cursor, serial, errors=tally.number, orphaned_aliases=orphaned, backfilled=backfilled
        )
        return draft, at

    def _moved(self, onward: UUID | str | None, serial: int, **more: int) -> RebuildValue:
        """The place after this batch: further down the list, or at the next one."""
        at = self.at
        following = dict(zip(STAGES, [*STAGES[1:], ""], strict=True))
        numbers = {name: getattr(at, name) + number for name, number in more.items()}
        fields = {name: getattr(at, name) for name in at.__struct_fields__} | numbers
        place = {"stage": at.stage if onward else following[at.stage], "after": str(onward) if onward else None}
        return RebuildValue(**fields | place | {"serial": serial, "updated_at": self._now()})


async def _judge(
    db: AsyncConnection, prefix: str, items: Sequence[Item], tally: Tally
) -> tuple[set[str], dict[str, Skill]]:
    """The keys that should not be there; and those of them whose listings the tables know nothing of at all."""
    match prefix:
        case "skill:":
            return await _judge_skills(db, items, tally)
        case "detail:":
            names = {key: value.name for key, value in _read(items, DetailValue, tally)}
            live = await live_names(db, set(names.values()))
            return {key for key, name in names.items() if name not in live}, {}
        case "alias:":
            aliases = {key: value.alias for key, value in _read(items, AliasValue, tally)}
            led = await resolve_aliases(db, set(aliases.values()))
            return {key for key, alias in aliases.items() if alias not in led}, {}
        case "sub:":
            given = {key: value.submission.id for key, value in _read(items, SubmissionValue, tally)}
            active = {each.id for each in await submissions_under_way(db, ids=given.values())}
            return {key for key, number in given.items() if number not in active}, {}
        case _:
            entries = {key: value.entry.id for key, value in _read(items, BlockValue, tally)}
            holding = {each.id for each in await blocks_of(db, entries.values())}
            return {key for key, number in entries.items() if number not in holding}, {}


async def _judge_skills(db: AsyncConnection, items: Sequence[Item], tally: Tally) -> tuple[set[str], dict[str, Skill]]:
    skills = {key: value.skill for key, value in _read(items, SkillValue, tally)}
    names = {skill.name for skill in skills.values()}
    live, known = await live_names(db, names), await known_names(db, names)
    wrong = {key for key, skill in skills.items() if skill.name not in live}
    return wrong, {key: skills[key] for key in sorted(wrong) if skills[key].name not in known}


def _read(items: Sequence[Item], kind: type[Kind], tally: Tally) -> list[tuple[str, Kind]]:
    values = [(item.key, read_value(item, kind, tally)) for item in items]
    return [(key, value) for key, value in values if value is not None]


@asynccontextmanager
async def _alone(store: Database, edge: Edge) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Nobody else rebuilds this copy meanwhile. The transaction writes nothing, so it holds back no serial."""
    async with store.begin() as guard:
        if not await lock_rebuild(guard, edge.identity):
            raise Conflict(
                "The edge copy is being rebuilt already; ask again when it is done.", code="rebuild_under_way"
            )
        yield lambda: stay_awake(guard)


async def _begin(edge: Edge, now: datetime) -> RebuildValue:
    """Where the last one stopped, if it did so lately; else the beginning."""
    left = await read_rebuild(edge)
    if left is not None and left.stage in STAGES and now - left.updated_at < RESUMABLE:
        log.info("Going on with a rebuild of the edge copy", stage=left.stage, rebuilt=left.rebuilt)
        return left
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


async def _has_nothing_to_go_on_from(store: Database, edge: Edge) -> bool:
    """Whether the serial of the copy says nothing: it is of another form, or of what the database has forgotten."""
    state = await read_state(edge)
    async with store.begin() as db:
        return state is None or state.form != form_of_values() or await edge.read_serial() > await newest_serial(db)


async def _set_serial(store: Database, edge: Edge) -> None:
    """From here on the projector follows; everything before comes with the rebuild, which begins at its beginning."""
    async with store.begin() as db:
        await wait_for_copy(db, edge.identity)
        since, newest = await edge.read_serial(), await newest_serial(db)
        state = StateValue(serial=newest, as_of=None, form=form_of_values())
        await edge.write({STATE: encode(state)}, {REBUILD}, since=since, serial=newest)


def _id(after: str | None) -> UUID | None:
    return UUID(after) if after is not None else None
