"""Drift detection: compares the edge copy with the tables key by key and recommends a remedy."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.edge.enumerate import UnreadableKeys, read_value
from assay.edge.index import read_index_head
from assay.edge.keys import SKILL, skill_key
from assay.edge.kv import EDGE_UNAVAILABLE, PAGE, Edge, Item, iterate_pages, prefix_range
from assay.edge.state import read_rebuild
from assay.edge.values import RebuildValue, SkillValue
from assay.model.errors import Unavailable
from assay.model.skill import Skill
from assay.store.database.database import Database
from assay.store.feed.edge_rows import Lag, live_names, live_skills, read_lag, skills_changed_since, skills_of
from assay.store.skills.counts import count_skills

MAX_SHOWN = 100
# Changes beyond this limit count as drift: a copy that far behind is a problem of its own.
MAX_CHANGED = 50_000
REBUILD_HINT = (
    "Run `assay rebuild-index` (or POST /api/v1/admin/rebuild-index) to rebuild the edge copy from the tables."
)
BEHIND_SECONDS = 60


class DriftKind(StrEnum):
    """The way in which a key differs."""

    # Only in the tables; only in the copy; in both with different values; in the copy with an undecodable value.
    MISSING = "missing"
    EXTRA = "extra"
    STALE = "stale"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class DriftedKey:
    """A key with its kind of drift."""

    key: str
    kind: DriftKind


@dataclass
class DriftCounts:
    """The numbers of rows, keys and differences, with the first MAX_SHOWN differences."""

    rows: int = 0
    keys: int = 0
    numbers: dict[DriftKind, int] = field(default_factory=lambda: dict.fromkeys(DriftKind, 0))
    differences: list[DriftedKey] = field(default_factory=list)
    # Differences in listings that changed recently and that the projector has yet to apply.
    pending: int = 0

    def add(self, key: str, kind: DriftKind) -> None:
        self.numbers[kind] += 1
        if len(self.differences) < MAX_SHOWN:
            self.differences.append(DriftedKey(key, kind))

    @property
    def total(self) -> int:
        """The number of differing keys."""
        return sum(self.numbers.values())


@dataclass(frozen=True)
class SkillsHealth:
    """A comparison of all sources of the catalogue; `index_count` is None if there is no index."""

    serial: int
    index_count: int | None
    comparison: DriftCounts
    counted: int
    lag: Lag | None
    edge_problem: str | None
    # The progress of a running or interrupted rebuild.
    rebuild: RebuildValue | None = None

    @property
    def lag_seconds(self) -> float:
        """Age of the oldest change that the copy lacks."""
        if self.lag is None or self.lag.since is None:
            return 0
        return max(0.0, (self.lag.now - self.lag.since).total_seconds())

    @property
    def drifts(self) -> list[str]:
        """One sentence per problem."""
        if self.edge_problem is not None:
            return [f"The edge copy does not answer: {self.edge_problem}"]
        seen, found = self.comparison, []
        descriptions = {
            DriftKind.MISSING: "listings are missing from the edge copy",
            DriftKind.EXTRA: "keys of the edge copy have no listing",
            DriftKind.STALE: "values of the edge copy differ from the tables",
            DriftKind.UNREADABLE: "values of the edge copy are unreadable",
        }
        found += [f"{number:,} {descriptions[kind]}." for kind, number in seen.numbers.items() if number]
        if self.index_count is None and seen.keys:
            found.append("The edge copy has no index.")
        elif (self.index_count or 0) != seen.keys and not seen.pending:
            found.append(f"The index has {self.index_count or 0:,} listings, the edge copy {seen.keys:,}.")
        if self.counted != seen.rows:
            found.append(f"The counter says {self.counted:,} listings; the table has {seen.rows:,}.")
        if self.lag_seconds > BEHIND_SECONDS:
            found.append(f"The edge copy is {self.lag_seconds:,.0f} s behind.")
        return found

    @property
    def recommendations(self) -> list[str]:
        """The remedies, with the command to run."""
        if self.edge_problem is not None:
            return ["Check ASSAY_EDGE_URL and the server or disk behind it, then run `assay health` again."]
        advice = []
        if self.comparison.total:
            advice.append(REBUILD_HINT)
        if self.lag_seconds > BEHIND_SECONDS:
            advice.append("Check that `assay worker` is running: it runs the projector, and its log shows any error.")
        if self.counted != self.comparison.rows:
            advice.append("No action needed: a periodic job corrects the counters within 15 minutes.")
        if self.drifts and not advice:
            advice.append("Wait a few minutes for the projector to rebuild the index, or run `assay rebuild-index`.")
        return advice


async def read_skills_health(
    store: Database, edge: Edge, *, progress: Callable[[int], None] = lambda _: None
) -> SkillsHealth:
    """Compare every listing with its key and every key with its listing, in bounded memory.

    Calls `progress` with the number of rows or keys compared since the last call.
    """
    try:
        serial = await edge.read_serial()
        head = await read_index_head(edge)
        async with store.snapshot() as db:
            lag = await read_lag(db, serial)
            moving = await skills_changed_since(db, serial, MAX_CHANGED)
            seen = DriftCounts()
            await _compare_rows(db, edge, moving, seen, progress)
            await _compare_keys(db, edge, serial, moving, seen, progress)
            index_count, counted = head.count if head else None, await count_skills(db)
            return SkillsHealth(serial, index_count, seen, counted, lag, None, await read_rebuild(edge))
    except Unavailable as error:
        if error.code != EDGE_UNAVAILABLE:
            raise
        return await _without_edge(store, str(error.details.get("cause", error.message)))


async def _compare_rows(
    db: AsyncConnection, edge: Edge, moving: set[UUID], seen: DriftCounts, progress: Callable[[int], None]
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


def _compare_all(rows: Sequence[Skill], values: Sequence[bytes | None], moving: set[UUID], seen: DriftCounts) -> None:
    seen.rows += len(rows)
    for row, raw in zip(rows, values, strict=True):
        kind = _compare(row, raw)
        if kind is not None and row.id in moving:
            seen.pending += 1
        elif kind is not None:
            seen.add(skill_key(row.name), kind)


def _compare(row: Skill, raw: bytes | None) -> DriftKind | None:
    if raw is None:
        return DriftKind.MISSING
    value = read_value(Item("", raw), SkillValue, UnreadableKeys())
    if value is None:
        return DriftKind.UNREADABLE
    return None if _compared_fields(value.skill) == _compared_fields(row) else DriftKind.STALE


def _compared_fields(skill: Skill) -> tuple[object, ...]:
    """Return the fields whose changes are in the change feed; installs and stars are not."""
    return skill.id, skill.name, skill.current_version, skill.content_digest, skill.score, skill.tier, skill.updated_at


async def _compare_keys(
    db: AsyncConnection, edge: Edge, serial: int, moving: set[UUID], seen: DriftCounts, progress: Callable[[int], None]
) -> None:
    async for page in iterate_pages(edge, prefix_range(SKILL)):
        seen.keys += len(page.items)
        progress(len(page.items))
        names: dict[str, str] = {}
        for item in page.items:
            value = read_value(item, SkillValue, UnreadableKeys())
            if value is None:
                # An unreadable value of a live listing is counted with its row. The key has the name unless shortened.
                names[item.key] = item.key.removeprefix(SKILL)
            elif value.serial <= serial:
                names[item.key] = value.skill.name
        live = await live_names(db, names.values())
        gone = {name for name in names.values() if name not in live}
        settled = gone - await _moving_names(db, gone, moving)
        for key, name in names.items():
            if name in settled:
                seen.add(key, DriftKind.EXTRA)
            elif name in gone:
                seen.pending += 1


async def _moving_names(db: AsyncConnection, names: set[str], moving: set[UUID]) -> set[str]:
    """Return the names of removed listings that the projector has yet to delete."""
    if not names or not moving:
        return set()
    return {skill.name for skill in await skills_of(db, (), names) if skill.id in moving}


async def _without_edge(store: Database, problem: str) -> SkillsHealth:
    async with store.snapshot() as db:
        number = await count_skills(db)
    return SkillsHealth(0, None, DriftCounts(rows=number), number, None, problem)
