"""What another ruleset would say of published contents, and what the one of now has not yet said."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, select, text
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.verdict import Decision, Verdict
from assay.store.tables import replay, ruleset

# Live listings in the order of their ids, with what the ruleset has not been asked about yet.
NEXT = text(
    """
    SELECT skill.id, skill_version.content_digest, replay.content_digest IS NOT NULL AS is_known
    FROM skill JOIN skill_version ON skill_version.id = skill.current_version_id
    LEFT JOIN replay ON replay.ruleset = :ruleset AND replay.content_digest = skill_version.content_digest
    WHERE skill.standing = 'live' AND (CAST(:after AS uuid) IS NULL OR skill.id > CAST(:after AS uuid))
    ORDER BY skill.id LIMIT :limit
    """
)
# What is published was approved, by whatever path.
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
FORGET = text("DELETE FROM replay WHERE ruleset <> :ruleset")


@dataclass(frozen=True, slots=True)
class Target:
    """A live listing's content, and whether this ruleset has been asked about it."""

    skill_id: UUID
    digest: str
    is_known: bool


@dataclass(frozen=True, slots=True)
class Flip:
    """A published skill that another ruleset would not publish."""

    skill_id: UUID
    name: str
    version: str
    digest: str
    score_now: int
    decision: Decision
    score: int
    reason: str | None


async def next_targets(db: AsyncConnection, version: str, after: UUID | None, limit: int) -> list[Target]:
    """The next live listings after this one."""
    rows = await db.execute(NEXT, {"ruleset": version, "after": after, "limit": limit})
    return [Target(*row) for row in rows]


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
    """A page of those that would change, in the order of their ids."""
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


async def forget_other_replays(db: AsyncConnection, version: str) -> None:
    """Only the last preview is kept."""
    await db.execute(FORGET, {"ruleset": version})


async def activate_ruleset(db: AsyncConnection, version: str) -> bool:
    """Say that workers run with this ruleset; whether that is new."""
    if await active_ruleset(db) == version:
        return False
    statement = upsert(ruleset).values(version=version)
    again = statement.on_conflict_do_update(index_elements=["version"], set_={"activated_at": func.clock_timestamp()})
    await db.execute(again)
    return True


async def active_ruleset(db: AsyncConnection) -> str | None:
    """The ruleset that was activated last."""
    newest = select(ruleset.c.version).order_by(ruleset.c.activated_at.desc()).limit(1)
    return (await db.execute(newest)).scalar_one_or_none()


async def find_stale(
    db: AsyncConnection, engine: str, version: str, after: UUID | None, limit: int
) -> tuple[list[str], UUID | None]:
    """The contents among the next listings that these rules have not seen, and where to go on; None at the end."""
    rows: Sequence[tuple[UUID, str, bool]] = [
        (row.id, row.content_digest, row.is_stale)
        for row in await db.execute(STALE, {"engine": engine, "ruleset": version, "after": after, "limit": limit})
    ]
    onward = rows[-1][0] if len(rows) == limit else None
    return [digest for _, digest, is_stale in rows if is_stale], onward
