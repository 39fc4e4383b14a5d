"""GitHub call budgets by token, shared by all processes. A share is reserved for a process in one statement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import func, select, text
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.github import CallShare, CallWindow, TokenCooldown
from assay.store.database.database import Database
from assay.store.database.records import json_text
from assay.store.tables import github_allowance, github_token

MAX_LISTED = 1_000

# FOR UPDATE reads the latest row, so no call is handed out twice.
TAKE = text(
    """
    WITH held AS (
        SELECT least(remaining, :seen) AS remaining FROM github_allowance
        WHERE key = :key AND resource = :resource AND resets_at > :now FOR UPDATE
    ), share AS (
        SELECT remaining, least(remaining, :most, greatest(1, remaining / :part)) AS calls FROM held
    )
    UPDATE github_allowance SET
        remaining = share.remaining - share.calls,
        resets_at = greatest(resets_at, CAST(:resets_at AS timestamptz))
    FROM share WHERE key = :key AND resource = :resource
    RETURNING share.calls, github_allowance.remaining, github_allowance.resets_at
    """
)
RECORD = text(
    """
    INSERT INTO github_allowance AS known (key, resource, remaining, resets_at)
    SELECT :key, resource, remaining, resets_at
    FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS said (resource text, remaining integer, resets_at timestamptz)
    ORDER BY resource
    ON CONFLICT (key, resource) DO UPDATE SET
        remaining = CASE WHEN known.resets_at > :now THEN least(known.remaining, excluded.remaining)
            ELSE excluded.remaining END,
        resets_at = CASE WHEN known.resets_at > :now THEN greatest(known.resets_at, excluded.resets_at)
            ELSE excluded.resets_at END
    """
)
# Only calls of the current window can be returned.
RETURN_CALLS = text(
    """
    UPDATE github_allowance SET remaining = remaining + :calls
    WHERE key = :key AND resource = :resource AND resets_at <= CAST(:resets_at AS timestamptz) + interval '5 seconds'
        AND resets_at >= CAST(:resets_at AS timestamptz) - interval '5 seconds'
    """
)


@dataclass(frozen=True)
class DatabaseBudgetStore:
    """Call budgets in the database. A share is at most `most` calls, or a fraction 1/`part` of the rest."""

    store: Database
    most: int
    part: int

    async def take_share(self, key: str, seen: CallWindow, now: float) -> CallShare | None:
        """Reserve calls for this process; None if no window is open."""
        values = {"key": key, "resource": seen.resource, "seen": seen.remaining, "most": self.most, "part": self.part}
        moments = {"now": _moment(now), "resets_at": _moment(seen.resets_at)}
        async with self.store.begin() as db:
            row = (await db.execute(TAKE, values | moments)).one_or_none()
        return CallShare(row.calls, row.remaining, row.resets_at.timestamp()) if row else None

    async def record_windows(self, key: str, windows: Sequence[CallWindow], now: float) -> None:
        """Record windows reported by GitHub. Within a window, the remaining calls only decrease."""
        rows = [
            {"resource": each.resource, "remaining": each.remaining, "resets_at": _moment(each.resets_at).isoformat()}
            for each in windows
        ]
        async with self.store.begin() as db:
            await db.execute(RECORD, {"key": key, "rows": json_text(rows), "now": _moment(now)})

    async def return_calls(self, key: str, resource: str, calls: int, resets_at: float) -> None:
        """Return reserved calls that were not made."""
        values = {"key": key, "resource": resource, "calls": calls, "resets_at": _moment(resets_at)}
        async with self.store.begin() as db:
            await db.execute(RETURN_CALLS, values)

    async def set_cooldown(self, key: str, until: TokenCooldown) -> None:
        """Stop all processes from using a token until then."""
        async with self.store.begin() as db:
            await _set_cooldown(db, key, until)

    async def read_cooldowns(self, keys: Sequence[str]) -> Mapping[str, TokenCooldown]:
        """Return the cooldowns of these tokens."""
        columns = (github_token.c.key, github_token.c.rests_until, github_token.c.refused_until)
        async with self.store.begin() as db:
            rows = await db.execute(select(*columns).where(github_token.c.key.in_(keys)))
            return {key: TokenCooldown(_seconds(rests), _seconds(refused)) for key, rests, refused in rows}


async def count_refused(db: AsyncConnection) -> int:
    """Count tokens that GitHub refused recently."""
    statement = select(func.count()).where(github_token.c.refused_until > func.now())
    return (await db.execute(statement)).scalar_one()


async def list_calls_left(db: AsyncConnection, now: datetime) -> dict[tuple[str, str], int]:
    """Return the calls not yet reserved, by key and resource, in open windows."""
    left = github_allowance
    statement = select(left.c.key, left.c.resource, left.c.remaining).where(left.c.resets_at > now)
    rows = await db.execute(statement.order_by(left.c.key, left.c.resource).limit(MAX_LISTED))
    return {(key, resource): remaining for key, resource, remaining in rows}


async def _set_cooldown(db: AsyncConnection, key: str, until: TokenCooldown) -> None:
    fresh = upsert(github_token).values(
        key=key, rests_until=_moment(until.rests_until), refused_until=_moment(until.refused_until)
    )
    later = {
        "rests_until": func.greatest(github_token.c.rests_until, fresh.excluded.rests_until),
        "refused_until": func.greatest(github_token.c.refused_until, fresh.excluded.refused_until),
        "noted_at": func.now(),
    }
    await db.execute(fresh.on_conflict_do_update(index_elements=[github_token.c.key], set_=later))


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _seconds(moment: datetime | None) -> float:
    return moment.timestamp() if moment else 0.0
