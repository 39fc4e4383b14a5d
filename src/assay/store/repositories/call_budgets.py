"""What is left of each token's calls, for all processes: a share is taken in one statement, for one of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import func, select, text
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.call_budget import Aside, Share, Window
from assay.store.database.database import Database
from assay.store.database.records import json_text
from assay.store.tables import github_allowance, github_token

MOST_LISTED = 1_000

# Who waits for the row sees it as the one before left it, so no call is handed out twice.
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
NOTE = text(
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
# What goes back must have been taken out of the window that still runs.
GIVE_BACK = text(
    """
    UPDATE github_allowance SET remaining = remaining + :calls
    WHERE key = :key AND resource = :resource AND resets_at <= CAST(:resets_at AS timestamptz) + interval '5 seconds'
        AND resets_at >= CAST(:resets_at AS timestamptz) - interval '5 seconds'
    """
)


@dataclass(frozen=True)
class AllowanceBook:
    """The book in the database; `most` calls or one `part` of what is left are taken at once."""

    store: Database
    most: int
    part: int

    async def take(self, key: str, seen: Window, now: float) -> Share | None:
        """Calls for one process alone; None if no window is open."""
        values = {"key": key, "resource": seen.resource, "seen": seen.remaining, "most": self.most, "part": self.part}
        moments = {"now": _moment(now), "resets_at": _moment(seen.resets_at)}
        async with self.store.begin() as db:
            row = (await db.execute(TAKE, values | moments)).one_or_none()
        return Share(row.calls, row.remaining, row.resets_at.timestamp()) if row else None

    async def note(self, key: str, windows: Sequence[Window], now: float) -> None:
        """Begin windows where the last are over; within one, what is left only falls."""
        rows = [
            {"resource": each.resource, "remaining": each.remaining, "resets_at": _moment(each.resets_at).isoformat()}
            for each in windows
        ]
        async with self.store.begin() as db:
            await db.execute(NOTE, {"key": key, "rows": json_text(rows), "now": _moment(now)})

    async def give_back(self, key: str, resource: str, calls: int, resets_at: float) -> None:
        """Calls that were taken and not made."""
        values = {"key": key, "resource": resource, "calls": calls, "resets_at": _moment(resets_at)}
        async with self.store.begin() as db:
            await db.execute(GIVE_BACK, values)

    async def set_aside(self, key: str, until: Aside) -> None:
        """Let all processes leave a token alone."""
        async with self.store.begin() as db:
            await _set_aside(db, key, until)

    async def read_asides(self, keys: Sequence[str]) -> Mapping[str, Aside]:
        """Which of these are to be left alone."""
        columns = (github_token.c.key, github_token.c.rests_until, github_token.c.refused_until)
        async with self.store.begin() as db:
            rows = await db.execute(select(*columns).where(github_token.c.key.in_(keys)))
            return {key: Aside(_seconds(rests), _seconds(refused)) for key, rests, refused in rows}


async def count_refused(db: AsyncConnection) -> int:
    """Tokens that GitHub did not take lately."""
    statement = select(func.count()).where(github_token.c.refused_until > func.now())
    return (await db.execute(statement)).scalar_one()


async def list_calls_left(db: AsyncConnection, now: datetime) -> dict[tuple[str, str], int]:
    """Calls that no process has taken yet, by key and resource, of the windows that are open."""
    left = github_allowance
    statement = select(left.c.key, left.c.resource, left.c.remaining).where(left.c.resets_at > now)
    rows = await db.execute(statement.order_by(left.c.key, left.c.resource).limit(MOST_LISTED))
    return {(key, resource): remaining for key, resource, remaining in rows}


async def _set_aside(db: AsyncConnection, key: str, until: Aside) -> None:
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
