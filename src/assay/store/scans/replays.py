"""Replays of another ruleset over published contents, and contents not yet scanned with the active ruleset."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, select, text
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.verdict import Decision, Verdict
from assay.store.tables import replay, ruleset

# Live listings by id, with whether the ruleset has been replayed on their content.
NEXT = text(
    """
    SELECT skill.id, skill_version.content_digest, replay.content_digest IS NOT NULL AS is_known
    FROM skill JOIN skill_version ON skill_version.id = skill.current_version_id
    LEFT JOIN replay ON replay.ruleset = :ruleset AND replay.content_digest = skill_version.content_digest
    WHERE skill.standing = 'live' AND (CAST(:after AS uuid) IS NULL OR skill.id > CAST(:after AS uuid))
    ORDER BY skill.id LIMIT :limit
    """
)
# Everything published was approved, so any other decision is a change.
FLIPS = text(
    """
    SELECT skill.id, skill.name, skill_version.version, skill_version.content_digest, skill_version.score AS score_now,
        replay.decision, replay.score, replay.reason
    FROM skill JOIN skill_version ON skill_version.id = skill.current_version_id
    JOIN replay ON replay.ruleset = :ruleset AND replay.content_digest = skill_version.content_digest
    WHERE skill.standing = 'live' AND replay.decision <> 'approve'
        AND (CAST(:after AS uuid) IS NULL OR skill.id > CAST(:after AS uuid))
    ORDER BY skill.id LIMIT :limit
    """
)
STALE = text(
    """
    SELECT looked_at.id, looked_at.content_digest, scan.id IS NULL AS is_stale
    FROM (
        SELECT skill.id, skill_version.content_digest
        FROM skill JOIN skill_version ON skill_version.id = skill.current_version_id
        WHERE skill.standing = 'live' AND (CAST(:after AS uuid) IS NULL OR skill.id > CAST(:after AS uuid))
        ORDER BY skill.id LIMIT :limit
    ) AS looked_at
    LEFT JOIN scan ON scan.content_digest = looked_at.content_digest AND scan.tier = 1
        AND scan.engine = :engine AND scan.ruleset = :ruleset
    ORDER BY looked_at.id
    """
)
DELETE_OTHERS = text("DELETE FROM replay WHERE ruleset <> :ruleset")


@dataclass(frozen=True, slots=True)
class ReplayTarget:
    """The content of a live listing, and whether the ruleset has been replayed on it."""

    skill_id: UUID
    digest: str
    is_known: bool


@dataclass(frozen=True, slots=True)
class Flip:
    """A published skill that the replayed ruleset would not publish."""

    skill_id: UUID
    name: str
    version: str
    digest: str
    score_now: int
    decision: Decision
    score: int
    reason: str | None


async def list_replay_targets(db: AsyncConnection, version: str, after: UUID | None, limit: int) -> list[ReplayTarget]:
    """Return the next live listings by id."""
    rows = await db.execute(NEXT, {"ruleset": version, "after": after, "limit": limit})
    return [ReplayTarget(*row) for row in rows]


async def save_replay(db: AsyncConnection, version: str, digest: str, verdict: Verdict) -> None:
    """Idempotent."""
    values = {
        "ruleset": version,
        "content_digest": digest,
        "outcome": verdict.outcome.value,
        "decision": verdict.decision.value,
        "score": verdict.score,
        "reason": verdict.reason.message[:2000] if verdict.reason else None,
    }
    await db.execute(upsert(replay).values(values).on_conflict_do_nothing())


async def list_flips(db: AsyncConnection, version: str, after: UUID | None, limit: int) -> list[Flip]:
    """Return a page of decisions that would change, by listing id."""
    rows = await db.execute(FLIPS, {"ruleset": version, "after": after, "limit": limit})
    return [
        Flip(
            skill_id=row.id,
            name=row.name,
            version=row.version,
            digest=row.content_digest,
            score_now=row.score_now,
            decision=Decision(row.decision),
            score=row.score,
            reason=row.reason,
        )
        for row in rows
    ]


async def delete_other_replays(db: AsyncConnection, version: str) -> None:
    await db.execute(DELETE_OTHERS, {"ruleset": version})


async def activate_ruleset(db: AsyncConnection, version: str) -> bool:
    """Record the ruleset that workers use. Returns whether it changed."""
    if await active_ruleset(db) == version:
        return False
    statement = upsert(ruleset).values(version=version)
    activated = statement.on_conflict_do_update(
        index_elements=["version"], set_={"activated_at": func.clock_timestamp()}
    )
    await db.execute(activated)
    return True


async def active_ruleset(db: AsyncConnection) -> str | None:
    """Return the ruleset that was activated last."""
    newest = select(ruleset.c.version).order_by(ruleset.c.activated_at.desc()).limit(1)
    return (await db.execute(newest)).scalar_one_or_none()


async def find_stale(
    db: AsyncConnection, engine: str, version: str, after: UUID | None, limit: int
) -> tuple[list[str], UUID | None]:
    """Return contents of the next listings that were not scanned with these rules, and the next cursor or None."""
    rows: Sequence[tuple[UUID, str, bool]] = [
        (row.id, row.content_digest, row.is_stale)
        for row in await db.execute(STALE, {"engine": engine, "ruleset": version, "after": after, "limit": limit})
    ]
    next_cursor = rows[-1][0] if len(rows) == limit else None
    return [digest for _, digest, is_stale in rows if is_stale], next_cursor
