"""The daily cost budget of the judge, shared by all processes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from assay.model.clock import Clock
from assay.model.errors import ScannerError
from assay.model.verdict import Usage
from assay.store.database.database import Database
from assay.store.operations.llm_usage import record_answer, record_endpoint_failure, reserve_cost, settle_cost

log = structlog.get_logger()
# Longest delay after the budget is exhausted, because an operator may raise it before the next day.
MAX_PAUSE = timedelta(minutes=15)
MAY_BE_CHARGED = frozenset({"llm_timed_out", "llm_bad_answer"})


@dataclass
class Bill:
    """The usage of one call, and the error of an unusable answer."""

    usage: Usage = field(default_factory=Usage)
    problem: str | None = None


@dataclass(frozen=True)
class DailyBudget:
    """The cost that all processes together may cause in a day, in millionths; None means unlimited."""

    store: Database
    clock: Clock
    model: str
    budget_micros: int | None

    @asynccontextmanager
    async def charge(self, reserved: Usage) -> AsyncIterator[Bill]:
        """Reserve the maximum cost of a call, then settle the actual cost. Raises ScannerError if it is exhausted."""
        now, bill = self.clock.now(), Bill()
        async with self.store.begin() as db:
            is_granted = await reserve_cost(db, now, reserved.cost_micros, self.budget_micros)
        if not is_granted:
            raise self._exhausted_error(now)
        try:
            yield bill
        except ScannerError as error:
            # Release the reservation unless the endpoint may have charged the call. It also stays if the process dies.
            released = Usage() if error.code in MAY_BE_CHARGED else reserved
            await self._settle(now, released, Bill(problem=error.message))
            raise
        await self._settle(now, reserved, bill)

    async def _settle(self, reserved_at: datetime, reserved: Usage, bill: Bill) -> None:
        """Settle the reservation and record the health of the model; an unusable answer counts as a failure."""
        async with self.store.begin() as db:
            await settle_cost(db, reserved_at.date(), reserved.cost_micros, bill.usage)
            if bill.problem is None:
                await record_answer(db, self.model, self.clock.now())
            else:
                await record_endpoint_failure(db, self.model, self.clock.now(), bill.problem)

    def _exhausted_error(self, now: datetime) -> ScannerError:
        tomorrow = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), now.tzinfo)
        log.error("Daily budget of the judge is exhausted", budget_micros=self.budget_micros)
        return ScannerError(
            "The judge's budget for today is exhausted.",
            code="llm_budget_spent",
            retry_after_seconds=min(tomorrow - now, MAX_PAUSE).total_seconds(),
        )
