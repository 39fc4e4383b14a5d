"""Drift: where the copy and the tables differ though they should not, key by key, and what to do about it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.edge.enumerate import Tally, read_value
from assay.edge.index import read_index_head
from assay.edge.keys import SKILL, skill_key
from assay.edge.kv import EDGE_AWAY, PAGE, Edge, Item, below, walk
from assay.edge.state import read_rebuild
from assay.edge.values import RebuildValue, SkillValue
from assay.model.errors import Unavailable
from assay.model.skill import Skill
from assay.store.database.database import Database
from assay.store.feed.edge_rows import Lag, live_names, live_skills, read_lag, skills_changed_since, skills_of
from assay.store.submissions.counts import count_skills

MOST_SHOWN = 100
# More are not told apart from drift: a copy that is so far behind is a finding of its own.
MOST_CHANGED = 50_000
REBUILD = (
    "Run `assay rebuild-index` (or POST /api/v1/admin/rebuild-index): it makes the edge copy anew from the tables."
)
BEHIND_SECONDS = 60


class Kind(StrEnum):
    """How a key differs."""

    # The tables have it, the copy does not; the other way round; both, but not the same; the value is no value.
    MISSING = "missing"
    EXTRA = "extra"
    STALE = "stale"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Difference:
    """One key."""

    key: str
    kind: Kind


@dataclass
class Comparison:
    """What was counted on the way, and the first of the differences."""

    rows: int = 0
    keys: int = 0
    numbers: dict[Kind, int] = field(default_factory=lambda: dict.fromkeys(Kind, 0))
    differences: list[Difference] = field(default_factory=list)
    # Changed lately: the projector has not come to them yet.
    on_their_way: int = 0

    def note(self, key: str, kind: Kind) -> None:
        """One more difference."""
        self.numbers[kind] += 1
        if len(self.differences) < MOST_SHOWN:
            self.differences.append(Difference(key, kind))

    @property
    def total(self) -> int:
        """How many keys differ."""
        return sum(self.numbers.values())


@dataclass(frozen=True)
class SkillsHealth:
    """All sources of the catalogue side by side. The index count is None if there is no index."""

    serial: int
    index_count: int | None
    comparison: Comparison
    counted: int
    lag: Lag | None
    edge_problem: str | None
    # How far a rebuild has come that is under way, or was cut short.
    rebuild: RebuildValue | None = None

    @property
    def lag_seconds(self) -> float:
        """How long the oldest change has waited that the copy does not have."""
        if self.lag is None or self.lag.since is None:
            return 0
        return max(0.0, (self.lag.now - self.lag.since).total_seconds())

    @property
    def drifts(self) -> list[str]:
        """What is not as it should be, a sentence for each."""
        if self.edge_problem is not None:
            return [f"The edge copy does not answer: {self.edge_problem}"]
        seen, found = self.comparison, []
        says = {
            Kind.MISSING: "listings are not in the edge copy",
            Kind.EXTRA: "keys of the edge copy have no listing",
            Kind.STALE: "values of the edge copy are not those of the tables",
            Kind.UNREADABLE: "values of the edge copy cannot be read",
        }
        found += [f"{number:,} {says[kind]}." for kind, number in seen.numbers.items() if number]
        if self.index_count is None and seen.keys:
            found.append("There is no index.")
        elif (self.index_count or 0) != seen.keys and not seen.on_their_way:
            found.append(f"The index has {self.index_count or 0:,} listings, the edge copy {seen.keys:,}.")
        if self.counted != seen.rows:
            found.append(f"The counter says {self.counted:,} listings, the table has {seen.rows:,}.")
        if self.lag_seconds > BEHIND_SECONDS:
            found.append(f"The edge copy is {self.lag_seconds:,.0f} s behind.")
        return found

    @property
    def recommendations(self) -> list[str]:
        """What to do, each with the command to run."""
        if self.edge_problem is not None:
            return ["Check ASSAY_EDGE_URL and the server or the disk behind it; then `assay health` again."]
        told = []
        if self.comparison.total:
            told.append(REBUILD)
        if self.lag_seconds > BEHIND_SECONDS:
            told.append("Check that `assay worker` runs: the projector works in it, and its log says what stops it.")
        if self.counted != self.comparison.rows:
            told.append("Nothing to run: the chore that compares the counters corrects them within 15 minutes.")
        if self.drifts and not told:
            told.append("Wait for the projector, which makes the index anew in minutes, or run `assay rebuild-index`.")
        return told


async def read_skills_health(
    store: Database, edge: Edge, *, progress: Callable[[int], None] = lambda _: None
) -> SkillsHealth:
    """Compares every listing with its key and every key with its listing, in bounded memory; `progress` is told how
    many of both were looked at since it was told last.
    """
    try:
        serial = await edge.read_serial()
        head = await read_index_head(edge)
        async with store.snapshot() as db:
            lag = await read_lag(db, serial)
            moving = await skills_changed_since(db, serial, MOST_CHANGED)
            seen = Comparison()
            await _compare_rows(db, edge, moving, seen, progress)
            await _compare_keys(db, edge, serial, moving, seen, progress)
            index_count, counted = head.count if head else None, await count_skills(db)
            return SkillsHealth(serial, index_count, seen, counted, lag, None, await read_rebuild(edge))
    except Unavailable as problem:
        if problem.code != EDGE_AWAY:
            raise
        return await _without_edge(store, str(problem.details.get("cause", problem.message)))


async def _compare_rows(
    db: AsyncConnection, edge: Edge, moving: set[UUID], seen: Comparison, progress: Callable[[int], None]
) -> None:
    after: UUID | None = None
    while True:
        rows = await live_skills(db, after, PAGE)
        values = await edge.get([skill_key(each.name) for each in rows])
        await asyncio.to_thread(_compare_all, rows, values, moving, seen)
        progress(len(rows))
        if len(rows) < PAGE:
            return
        after = rows[-1].id


def _compare_all(rows: Sequence[Skill], values: Sequence[bytes | None], moving: set[UUID], seen: Comparison) -> None:
    seen.rows += len(rows)
    for row, raw in zip(rows, values, strict=True):
        kind = _compare(row, raw)
        if kind is not None and row.id in moving:
            seen.on_their_way += 1
        elif kind is not None:
            seen.note(skill_key(row.name), kind)


def _compare(row: Skill, raw: bytes | None) -> Kind | None:
    if raw is None:
        return Kind.MISSING
    value = read_value(Item("", raw), SkillValue, Tally())
    if value is None:
        return Kind.UNREADABLE
    return None if _essence(value.skill) == _essence(row) else Kind.STALE


def _essence(skill: Skill) -> tuple[object, ...]:
    """What a change record tells of: installs, stars and the like are counted without one."""
    return skill.id, skill.name, skill.current_version, skill.content_digest, skill.score, skill.tier, skill.updated_at


async def _compare_keys(
    db: AsyncConnection, edge: Edge, serial: int, moving: set[UUID], seen: Comparison, progress: Callable[[int], None]
) -> None:
    async for page in walk(edge, below(SKILL)):
        seen.keys += len(page.items)
        progress(len(page.items))
        named: dict[str, str] = {}
        for item in page.items:
            value = read_value(item, SkillValue, Tally())
            if value is None:
                # Those of a listing are noted with it; its name is in the key unless that is a very long one.
                named[item.key] = item.key.removeprefix(SKILL)
            elif value.serial <= serial:
                named[item.key] = value.skill.name
        live = await live_names(db, named.values())
        gone = {name for name in named.values() if name not in live}
        settled = gone - await _moving_names(db, gone, moving)
        for key, name in named.items():
            if name in settled:
                seen.note(key, Kind.EXTRA)
            elif name in gone:
                seen.on_their_way += 1


async def _moving_names(db: AsyncConnection, names: set[str], moving: set[UUID]) -> set[str]:
    """Those that were taken down so lately that the projector has not come to them yet."""
    if not names or not moving:
        return set()
    return {skill.name for skill in await skills_of(db, (), names) if skill.id in moving}


async def _without_edge(store: Database, problem: str) -> SkillsHealth:
    async with store.snapshot() as db:
        number = await count_skills(db)
    return SkillsHealth(0, None, Comparison(rows=number), number, None, problem)
