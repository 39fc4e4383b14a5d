"""The purse: no call is made that the budget of the day does not allow, however many processes ask."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from assay.model.clock import Clock
from assay.model.errors import ScannerError
from assay.model.judgement import Usage
from assay.store.database.database import Database
from assay.store.operations.llm_usage import note_answer, note_no_answer, reserve, settle_cost

log = structlog.get_logger()
# So long at most one waits for the next day: somebody may raise the budget before.
LONGEST_PAUSE = timedelta(minutes=15)
MAY_BE_CHARGED = frozenset({"llm_timed_out", "llm_bad_answer"})


@dataclass
class Bill:
    """What one call came to: what it cost, and what is wrong with the answer, if anything is."""

    usage: Usage = field(default_factory=Usage)
    problem: str | None = None


@dataclass(frozen=True)
class Purse:
    """What all processes together may spend in a day, in millionths; None is no limit."""

    store: Database
    clock: Clock
    model: str
    budget_micros: int | None

    @asynccontextmanager
    async def paying(self, most: Usage) -> AsyncIterator[Bill]:
        """Set the most aside that a call can cost, and settle with what it did cost. Raises ScannerError."""
        now, bill = self.clock.now(), Bill()
        async with self.store.begin() as db:
            is_granted = await reserve(db, now, most.cost_micros, self.budget_micros)
        if not is_granted:
            raise self._spent(now)
        try:
            yield bill
        except ScannerError as problem:
            # What is not charged is given back; what may have been stays set aside, also if the process dies here.
            given_back = Usage() if problem.code in MAY_BE_CHARGED else most
            await self._settle(now, given_back, Bill(problem=problem.message))
            raise
        await self._settle(now, most, bill)

    async def _settle(self, reserved_at: datetime, most: Usage, bill: Bill) -> None:
        """Also lets everybody know how the model does. What is no answer is a failure, however promptly it comes."""
        async with self.store.begin() as db:
            await settle_cost(db, reserved_at.date(), most.cost_micros, bill.usage)
            if bill.problem is None:
                await note_answer(db, self.model, self.clock.now())
            else:
                await note_no_answer(db, self.model, self.clock.now(), bill.problem)

    def _spent(self, now: datetime) -> ScannerError:
        tomorrow = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), now.tzinfo)
        log.error("The daily budget of the judge is spent", budget_micros=self.budget_micros)
        return ScannerError(
            "The judge's budget of today is spent.",
            code="llm_budget_spent",
            retry_after_seconds=min(tomorrow - now, LONGEST_PAUSE).total_seconds(),
        )
