"""The daily cost of the judge over all processes, and the state of its endpoint."""

from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.verdict import Usage

# Reserved before a call is made, so that all processes together stay within the budget.
RESERVE = text(
    """
    INSERT INTO llm_day AS today (day, calls, cost_micros)
    SELECT :day, 1, :cost WHERE CAST(:budget AS bigint) IS NULL OR :cost <= CAST(:budget AS bigint)
    ON CONFLICT (day) DO UPDATE SET calls = today.calls + 1, cost_micros = today.cost_micros + excluded.cost_micros
        WHERE CAST(:budget AS bigint) IS NULL OR today.cost_micros + excluded.cost_micros <= CAST(:budget AS bigint)
    RETURNING 1
    """
)
STOP = text(
    """
    INSERT INTO llm_day AS today (day, stopped_at) VALUES (:day, :now)
    ON CONFLICT (day) DO UPDATE SET stopped_at = coalesce(today.stopped_at, excluded.stopped_at)
    """
)
SETTLE = text(
    """
    UPDATE llm_day SET cost_micros = greatest(0, cost_micros - :reserved + :cost),
        prompt_tokens = prompt_tokens + :prompt_tokens, completion_tokens = completion_tokens + :completion_tokens
    WHERE day = :day
    """
)
ANSWERED = text(
    """
    INSERT INTO llm_endpoint AS known (model, failures, answered_at) VALUES (:model, 0, :now)
    ON CONFLICT (model) DO UPDATE SET failures = 0, problem = NULL, answered_at = excluded.answered_at
    """
)
FAILED = text(
    """
    INSERT INTO llm_endpoint AS known (model, failures, problem, failed_at) VALUES (:model, 1, :problem, :now)
    ON CONFLICT (model) DO UPDATE SET
        failures = known.failures + 1, problem = excluded.problem, failed_at = excluded.failed_at
    """
)
READ = text(
    """
    SELECT coalesce(today.cost_micros, 0) AS spent_micros, coalesce(today.calls, 0) AS calls,
        coalesce(today.prompt_tokens + today.completion_tokens, 0) AS tokens, today.stopped_at,
        endpoint.failures, endpoint.problem, endpoint.failed_at, endpoint.answered_at,
        waiting.number AS second_looks, waiting.oldest_at AS oldest_second_look_at
    FROM (SELECT 1) AS one
    LEFT JOIN llm_day AS today ON today.day = :day
    LEFT JOIN llm_endpoint AS endpoint ON endpoint.model = :model
    CROSS JOIN (
        SELECT count(*) AS number, min(created_at) AS oldest_at
        FROM (SELECT created_at FROM second_look ORDER BY due_at LIMIT :at_most) AS looked_at
    ) AS waiting
    """
)


@dataclass(frozen=True, slots=True)
class JudgeRecord:
    """Cost and state of the judge. Waiting rescans (`second_looks`) are counted up to a limit."""

    spent_micros: int = 0
    calls: int = 0
    tokens: int = 0
    stopped_at: datetime | None = None
    failures: int = 0
    problem: str | None = None
    failed_at: datetime | None = None
    answered_at: datetime | None = None
    second_looks: int = 0
    oldest_second_look_at: datetime | None = None


async def reserve_cost(db: AsyncConnection, now: datetime, cost_micros: int, budget_micros: int | None) -> bool:
    """Reserve a cost in the budget of the day. If it is exceeded, return False and record when the judge stopped."""
    params = {"day": now.date(), "cost": cost_micros, "budget": budget_micros}
    if (await db.execute(RESERVE, params)).one_or_none() is not None:
        return True
    await db.execute(STOP, {"day": now.date(), "now": now})
    return False


async def settle_cost(db: AsyncConnection, day: date, reserved_micros: int, usage: Usage) -> None:
    """Replace the reserved cost by the actual one."""
    params = {
        "day": day,
        "reserved": reserved_micros,
        "cost": usage.cost_micros,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
    }
    await db.execute(SETTLE, params)


async def record_answer(db: AsyncConnection, model: str, now: datetime) -> None:
    await db.execute(ANSWERED, {"model": model, "now": now})


async def record_endpoint_failure(db: AsyncConnection, model: str, now: datetime, problem: str) -> None:
    await db.execute(FAILED, {"model": model, "now": now, "problem": problem[:500]})


async def read_judge_record(db: AsyncConnection, now: datetime, model: str | None, at_most: int) -> JudgeRecord:
    """Read the record in one statement whose cost does not grow with the registry."""
    row = (await db.execute(READ, {"day": now.date(), "model": model or "", "at_most": at_most})).one()
    return JudgeRecord(**{**row._mapping, "failures": row.failures or 0})
