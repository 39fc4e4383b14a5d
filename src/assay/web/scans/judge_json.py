"""The JSON of how the judge does, and what it costs."""

from datetime import datetime

from assay.llm.prices import MICROS
from assay.serve.queue.health import QueueHealth
from assay.web.http.json import View


class JudgeView(View, frozen=True):
    """How the judge does. Spent is what was paid or set aside today (UTC); `secondLooks` counts up to 1000."""

    model: str
    spent_today: float
    daily_budget: float | None
    stopped_at: datetime | None
    calls_today: int
    tokens_today: int
    failures_in_a_row: int
    last_answer_at: datetime | None
    second_looks: int
    oldest_second_look_at: datetime | None


def present_judge(health: QueueHealth) -> JudgeView | None:
    """The judge of this registry, if there is one."""
    limits, judge = health.limits, health.facts.judge
    if limits.judge_model is None:
        return None
    budget = limits.judge_budget_micros
    return JudgeView(
        model=limits.judge_model,
        spent_today=judge.spent_micros / MICROS,
        daily_budget=budget / MICROS if budget is not None else None,
        stopped_at=judge.stopped_at,
        calls_today=judge.calls,
        tokens_today=judge.tokens,
        failures_in_a_row=judge.failures,
        last_answer_at=judge.answered_at,
        second_looks=judge.second_looks,
        oldest_second_look_at=judge.oldest_second_look_at,
    )
