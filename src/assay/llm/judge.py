"""The judge: sends briefs to a model and combines the checked answers into a judgement."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic
from weakref import WeakValueDictionary

import structlog

from assay.llm.answer import BadAnswer, CheckedAnswer, check_answer, judgement_covers, merge_findings, too_large
from assay.llm.budget import DailyBudget
from assay.llm.chunks import SkillTooLarge
from assay.llm.client import ModelClient, Question, Reply
from assay.llm.passes import PROMPT, schema_of
from assay.llm.prices import BYTES_PER_TOKEN
from assay.llm.prompt import Brief, write_briefs
from assay.model.clock import Clock
from assay.model.errors import ScannerError
from assay.model.finding import Report
from assay.model.source import Source
from assay.model.verdict import ENGINE_PREFIX, Judgement, Usage
from assay.policy.policy import Policy, decide_verdict
from assay.store.database.database import Database
from assay.store.scans.judgements import find_judgements, record_judge_error, save_judgement

log = structlog.get_logger()
# Errors that carry a reliable retry delay.
KNOWS_RETRY_TIME = frozenset({"llm_rate_limited", "llm_breaker_open", "llm_budget_spent"})
# Attempts per brief before an invalid answer is an error.
MAX_ANSWERS = 2
BAD_ANSWER = "llm_bad_answer"
# Longest delay after invalid answers, because an operator may have changed the model.
MAX_PAUSE = timedelta(minutes=15)
MAX_ANSWER_TOKENS = 4_000
# Concurrent calls per judgement.
MAX_CONCURRENT_CALLS = 3
# Tokens of the window for prompt, schema and marks; the rest is for the skill.
RESERVED_TOKENS = 3_000


@dataclass(frozen=True)
class JudgeOptions:
    """The context window, the time limit of a judgement, and the time to wait for a failing judge (`patience`)."""

    window_tokens: int
    deadline_seconds: float
    patience: timedelta
    # Default retry delay of a submission.
    pause_seconds: float = 30.0

    @property
    def room(self) -> int:
        """Bytes of material per call."""
        return max(2_000, (self.window_tokens - MAX_ANSWER_TOKENS - RESERVED_TOKENS) * BYTES_PER_TOKEN)


@dataclass(frozen=True)
class Judge:
    """The judge of one process."""

    store: Database
    client: ModelClient
    budget: DailyBudget
    policy: Policy
    clock: Clock
    options: JudgeOptions
    # Skills judged concurrently.
    slots: asyncio.Semaphore
    # Skills must not be able to predict the marks.
    rng: Callable[[], random.Random] = field(default=random.SystemRandom)
    # By digest: equal contents that arrive concurrently are judged and paid for once.
    _asking: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    @property
    def engine(self) -> str:
        return f"{ENGINE_PREFIX}{self.client.endpoint.model}"

    @property
    def prompt(self) -> str:
        """The digest of the prompt texts."""
        return PROMPT

    async def judge(self, source: Source, report: Report, *, since: datetime) -> Judgement:
        """Judge some content and store the judgement. Raises ScannerError while the judge fails.

        After `patience`, counted from the first failure but not before `since`, return a judgement with the error, so
        that a reviewer decides.
        """
        async with self._slot(source.digest):
            return await self._find_known(source, report) or await self._judge(source, report, since)

    @asynccontextmanager
    async def _slot(self, digest: str) -> AsyncIterator[None]:
        """Wait for a free slot. Raises ScannerError with the code `judge_busy`; the judge has not failed then."""
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(self.options.deadline_seconds / 2):
                    # Before the slot: callers that wait for the judgement of the same content need none.
                    await held.enter_async_context(self._asking.setdefault(digest, asyncio.Lock()))
                    await held.enter_async_context(self.slots)
            except TimeoutError:
                wait = max(1.0, self.options.pause_seconds)
                raise ScannerError("The judge is busy.", code="judge_busy", retry_after_seconds=wait) from None
            yield

    async def _find_known(self, source: Source, report: Report) -> Judgement | None:
        """Return a judgement that was stored while waiting for the slot."""
        async with self.store.begin() as db:
            found = (await find_judgements(db, [source.digest], self.engine, self.prompt)).get(source.digest)
        return found if found is not None and judgement_covers(found, report) else None

    async def _judge(self, source: Source, report: Report, since: datetime) -> Judgement:
        usages: list[Usage] = []
        try:
            async with asyncio.timeout(self.options.deadline_seconds / 2):
                judgement = await self._ask_all(source, report, usages)
        except TimeoutError:
            slow = f"The judge took longer than {self.options.deadline_seconds / 2:.0f} s."
            return await self._failed(source, report, ScannerError(slow, code="llm_too_slow"), since, usages)
        except ScannerError as error:
            return await self._failed(source, report, error, since, usages)
        verdict = decide_verdict(report, self.policy, judgement)
        assert verdict is not None
        async with self.store.begin() as db:
            await save_judgement(db, judgement, verdict, has_code=report.has_code)
        return judgement

    async def _ask_all(self, source: Source, report: Report, usages: list[Usage]) -> Judgement:
        started = monotonic()
        try:
            briefs = await asyncio.to_thread(write_briefs, source, report, room=self.options.room, rng=self.rng())
        except SkillTooLarge:
            return self._judgement(source, (CheckedAnswer((too_large(),), ()),), "", Usage(), started)
        gate = asyncio.Semaphore(MAX_CONCURRENT_CALLS)
        models: list[str] = []

        async def one(brief: Brief) -> CheckedAnswer:
            async with gate:
                return await self._ask(brief, usages, models)

        # While the circuit breaker is open, try one call before the others.
        tried = [await one(briefs[0])] if self.client.breaker.is_open else []
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(brief)) for brief in briefs[len(tried) :]]
        except ExceptionGroup as errors:
            raise _first(errors) from None
        checked = (*tried, *(task.result() for task in tasks))
        return self._judgement(source, checked, ", ".join(sorted(set(models))), sum(usages, Usage()), started)

    async def _ask(self, brief: Brief, usages: list[Usage], models: list[str]) -> CheckedAnswer:
        """Send a brief until the answer is valid; invalid answers count for the usage, too. Raises ScannerError."""
        question = Question(
            brief.system, brief.user, brief.judge_pass.name, schema_of(brief.judge_pass), MAX_ANSWER_TOKENS
        )
        message = ""
        for _ in range(MAX_ANSWERS):
            async with self.budget.charge(self.client.max_usage(question)) as bill:
                reply = await self.client.ask(question)
                bill.usage = reply.usage
                usages.append(reply.usage)
                models.append(reply.model)
                try:
                    return _checked(reply, brief)
                except BadAnswer as error:
                    message = bill.problem = f"The model gave an invalid answer: {error}."
                    log.warning("The model gave an invalid answer", judge_pass=brief.judge_pass.name, error=str(error))
        raise ScannerError(message, code=BAD_ANSWER)

    async def _failed(
        self, source: Source, report: Report, error: ScannerError, since: datetime, usages: Sequence[Usage]
    ) -> Judgement:
        paid = sum(usages, Usage())
        async with self.store.begin() as db:
            first = await record_judge_error(
                db, source.digest, self.engine, self.prompt, paid, has_code=report.has_code, problem=error.message
            )
        failing = self.clock.now() - max(first or self.clock.now(), since)
        if failing < self.options.patience:
            raise self._with_delay(error, failing)
        log.error("The judge failed for too long; a reviewer decides", digest=source.digest, error=error.message)
        return Judgement(self.engine, self.prompt, source.digest, (), (), "", Usage(), 0.0, problem=error.message)

    def _with_delay(self, error: ScannerError, failing: timedelta) -> ScannerError:
        """Return the error with its retry delay. The delay grows for invalid answers, which cost money each time:
        otherwise a skill that provokes them could exhaust the budget.
        """
        wait = error.retry_after_seconds if error.code in KNOWS_RETRY_TIME else self.options.pause_seconds
        if error.code == BAD_ANSWER:
            wait = max(wait, min(failing, MAX_PAUSE).total_seconds())
        return ScannerError(error.message, code=error.code, retry_after_seconds=wait)

    def _judgement(
        self, source: Source, checked: tuple[CheckedAnswer, ...], model: str, usage: Usage, started: float
    ) -> Judgement:
        return Judgement(
            engine=self.engine,
            prompt=self.prompt,
            digest=source.digest,
            findings=merge_findings(checked),
            rulings=tuple(ruled for each in checked for ruled in each.rulings),
            model=model or self.client.endpoint.model,
            usage=usage,
            duration_ms=(monotonic() - started) * 1000,
        )


def _checked(reply: Reply, brief: Brief) -> CheckedAnswer:
    if not reply.is_whole:
        raise BadAnswer("it was cut off or refused")
    return check_answer(reply.text, brief)


def _first(errors: ExceptionGroup[Exception]) -> Exception:
    """Return the first unexpected error, else the first ScannerError."""
    failures = list(errors.exceptions)
    return next((each for each in failures if not isinstance(each, ScannerError)), failures[0])
