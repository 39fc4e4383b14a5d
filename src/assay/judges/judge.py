"""The judge: briefs go out, answers come in, are checked, and become one judgement; or the judge has failed."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic

import structlog

from assay.judge.answer import BadAnswer, Checked, check_answer, merge_findings, too_large
from assay.judge.brief import Brief, write_briefs
from assay.judge.parts import TooLarge
from assay.judge.passes import PROMPT, schema_of
from assay.judge.policy import Policy, weigh
from assay.judges.purse import Purse
from assay.llm.client import ModelClient, Question, Reply
from assay.llm.prices import BYTES_A_TOKEN
from assay.model.clock import Clock
from assay.model.errors import ScannerError
from assay.model.finding import Report
from assay.model.judgement import ENGINE_PREFIX, Judgement, Usage
from assay.model.source import Source
from assay.store.database import Database
from assay.store.judgements import note_judge_error, save_judgement

log = structlog.get_logger()
# Failures that know when it is worth to ask again.
SAYS_WHEN = frozenset({"llm_rate_limited", "llm_breaker_open", "llm_budget_spent"})
# An answer that is none is asked for once more; then the model babbles.
ANSWERS = 2
LONGEST_ANSWER_TOKENS = 4_000
# Calls of one judgement that are under way at once.
AT_ONCE = 3
# Our own words, schema and marks, in tokens; the rest of the window is for the skill.
OWN_TOKENS = 3_000


@dataclass(frozen=True)
class JudgeOptions:
    """How much is shown at once, how long a judgement may take, and how long one waits for a judge that fails."""

    window_tokens: int
    deadline_seconds: float
    patience: timedelta
    # How long a submission waits before it asks again, where nobody says how long.
    pause_seconds: float = 30.0

    @property
    def room(self) -> int:
        """The bytes of material that fit one call."""
        return max(2_000, (self.window_tokens - LONGEST_ANSWER_TOKENS - OWN_TOKENS) * BYTES_A_TOKEN)


@dataclass(frozen=True)
class Judge:
    """One for each process."""

    store: Database
    client: ModelClient
    purse: Purse
    policy: Policy
    clock: Clock
    options: JudgeOptions
    # So many skills are judged at once.
    places: asyncio.Semaphore
    # Marks must be such that no skill can foretell them.
    rng: Callable[[], random.Random] = field(default=random.SystemRandom)

    @property
    def engine(self) -> str:
        """Who judges."""
        return f"{ENGINE_PREFIX}{self.client.endpoint.model}"

    @property
    def prompt(self) -> str:
        """In which words it is asked."""
        return PROMPT

    async def judge(self, source: Source, report: Report, *, since: datetime) -> Judgement:
        """Ask, and keep the answer. Raises ScannerError while the judge fails; when that has lasted too long since
        then, the judgement says so instead, and a person looks.
        """
        async with self._a_place():
            return await self._judge(source, report, since)

    @asynccontextmanager
    async def _a_place(self) -> AsyncIterator[None]:
        """One of the places at the judge; who gets none in time waits in the queue, for the judge has not failed."""
        try:
            async with asyncio.timeout(self.options.deadline_seconds / 2):
                await self.places.acquire()
        except TimeoutError:
            wait = max(1.0, self.options.pause_seconds)
            raise ScannerError("The judge is busy.", code="judge_busy", retry_after_seconds=wait) from None
        try:
            yield
        finally:
            self.places.release()

    async def _judge(self, source: Source, report: Report, since: datetime) -> Judgement:
        try:
            async with asyncio.timeout(self.options.deadline_seconds / 2):
                judgement = await self._ask_all(source, report)
        except TimeoutError:
            slow = f"It took longer than {self.options.deadline_seconds / 2:.0f} s."
            return await self._failed(source, report, ScannerError(slow, code="llm_too_slow"), since)
        except ScannerError as problem:
            return await self._failed(source, report, problem, since)
        verdict = weigh(report, self.policy, judgement)
        assert verdict is not None
        async with self.store.begin() as db:
            await save_judgement(db, judgement, verdict, has_code=report.has_code)
        return judgement

    async def _ask_all(self, source: Source, report: Report) -> Judgement:
        started = monotonic()
        try:
            briefs = await asyncio.to_thread(write_briefs, source, report, room=self.options.room, rng=self.rng())
        except TooLarge:
            return self._judgement(source, (Checked((too_large(),), ()),), "", Usage(), started)
        gate = asyncio.Semaphore(AT_ONCE)
        usages: list[Usage] = []
        models: list[str] = []

        async def one(brief: Brief) -> Checked:
            async with gate:
                return await self._ask(brief, usages, models)

        # A model that was left alone is tried with one question before it gets the others.
        tried = [await one(briefs[0])] if self.client.breaker.is_open else []
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(brief)) for brief in briefs[len(tried) :]]
        except ExceptionGroup as problems:
            raise _first(problems) from None
        checked = (*tried, *(task.result() for task in tasks))
        return self._judgement(source, checked, ", ".join(sorted(set(models))), sum(usages, Usage()), started)

    async def _ask(self, brief: Brief, usages: list[Usage], models: list[str]) -> Checked:
        """One brief until it is answered; what was paid for counts also if it was no answer."""
        question = Question(brief.system, brief.user, brief.asked.name, schema_of(brief.asked), LONGEST_ANSWER_TOKENS)
        said = ""
        for _ in range(ANSWERS):
            reply = await self._pay_and_ask(question)
            usages.append(reply.usage)
            models.append(reply.model)
            try:
                if not reply.is_whole:
                    raise BadAnswer("it was cut off or refused")
                return check_answer(reply.text, brief)
            except BadAnswer as problem:
                said = str(problem)
                log.warning("The model gave no proper answer", judging=brief.asked.name, problem=said)
        babble = ScannerError(f"The model gave no proper answer: {said}.", code="llm_bad_answer")
        await self.purse.note_failure(babble)
        raise babble

    async def _pay_and_ask(self, question: Question) -> Reply:
        most = self.client.most(question)
        async with self.purse.paying(most) as paid:
            reply = await self.client.ask(question)
            paid.append(reply.usage)
        return reply

    async def _failed(self, source: Source, report: Report, problem: ScannerError, since: datetime) -> Judgement:
        async with self.store.begin() as db:
            first = await note_judge_error(
                db, source.digest, self.engine, self.prompt, has_code=report.has_code, problem=problem.message
            )
        begun = max(first or self.clock.now(), since)
        if self.clock.now() - begun < self.options.patience:
            raise self._again(problem)
        log.error("The judge has failed for too long; a person looks", digest=source.digest, problem=problem.message)
        return Judgement(self.engine, self.prompt, source.digest, (), (), "", Usage(), 0.0, problem=problem.message)

    def _again(self, problem: ScannerError) -> ScannerError:
        """The same, with how long to wait for it."""
        wait = problem.retry_after_seconds if problem.code in SAYS_WHEN else self.options.pause_seconds
        return ScannerError(problem.message, code=problem.code, retry_after_seconds=wait)

    def _judgement(
        self, source: Source, checked: tuple[Checked, ...], model: str, usage: Usage, started: float
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


def _first(problems: ExceptionGroup[Exception]) -> Exception:
    """The failure that speaks for all; a bug before any other."""
    failures = list(problems.exceptions)
    return next((each for each in failures if not isinstance(each, ScannerError)), failures[0])
