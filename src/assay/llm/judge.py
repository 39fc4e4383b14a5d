"""The judge: briefs go out, answers come in, are checked, and become one judgement; or the judge has failed."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic
from weakref import WeakValueDictionary

import structlog

from assay.llm.answer import BadAnswer, Checked, check_answer, covers, merge_findings, too_large
from assay.llm.budget import Purse
from assay.llm.chunks import TooLarge
from assay.llm.client import ModelClient, Question, Reply
from assay.llm.passes import PROMPT, schema_of
from assay.llm.prices import BYTES_A_TOKEN
from assay.llm.prompt import Brief, write_briefs
from assay.model.clock import Clock
from assay.model.errors import ScannerError
from assay.model.finding import Report
from assay.model.judgement import ENGINE_PREFIX, Judgement, Usage
from assay.model.source import Source
from assay.policy.policy import Policy, weigh
from assay.store.database.database import Database
from assay.store.scans.judgements import find_judgements, note_judge_error, save_judgement

log = structlog.get_logger()
# Failures that know when it is worth to ask again.
SAYS_WHEN = frozenset({"llm_rate_limited", "llm_breaker_open", "llm_budget_spent"})
# An answer that is none is asked for once more; then the model babbles.
ANSWERS = 2
BABBLE = "llm_bad_answer"
# So long at most one waits for a model that babbles: somebody may have put another in its place.
LONGEST_PAUSE = timedelta(minutes=15)
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
    # By content: equal bytes that come under many names at once are asked about, and paid for, once.
    _asking: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

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
        async with self._a_place(source.digest):
            return await self._known(source, report) or await self._judge(source, report, since)

    @asynccontextmanager
    async def _a_place(self, digest: str) -> AsyncIterator[None]:
        """One of the places at the judge; who gets none in time waits in the queue, for the judge has not failed."""
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(self.options.deadline_seconds / 2):
                    # Before the place: those who wait for an answer that somebody is getting need none.
                    await held.enter_async_context(self._asking.setdefault(digest, asyncio.Lock()))
                    await held.enter_async_context(self.places)
            except TimeoutError:
                wait = max(1.0, self.options.pause_seconds)
                raise ScannerError("The judge is busy.", code="judge_busy", retry_after_seconds=wait) from None
            yield

    async def _known(self, source: Source, report: Report) -> Judgement | None:
        """What was answered about the same bytes since they were last looked for."""
        async with self.store.begin() as db:
            found = (await find_judgements(db, [source.digest], self.engine, self.prompt)).get(source.digest)
        return found if found is not None and covers(found, report) else None

    async def _judge(self, source: Source, report: Report, since: datetime) -> Judgement:
        usages: list[Usage] = []
        try:
            async with asyncio.timeout(self.options.deadline_seconds / 2):
                judgement = await self._ask_all(source, report, usages)
        except TimeoutError:
            slow = f"It took longer than {self.options.deadline_seconds / 2:.0f} s."
            return await self._failed(source, report, ScannerError(slow, code="llm_too_slow"), since, usages)
        except ScannerError as problem:
            return await self._failed(source, report, problem, since, usages)
        verdict = weigh(report, self.policy, judgement)
        assert verdict is not None
        async with self.store.begin() as db:
            await save_judgement(db, judgement, verdict, has_code=report.has_code)
        return judgement

    async def _ask_all(self, source: Source, report: Report, usages: list[Usage]) -> Judgement:
        started = monotonic()
        try:
            briefs = await asyncio.to_thread(write_briefs, source, report, room=self.options.room, rng=self.rng())
        except TooLarge:
            return self._judgement(source, (Checked((too_large(),), ()),), "", Usage(), started)
        gate = asyncio.Semaphore(AT_ONCE)
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
            async with self.purse.paying(self.client.most(question)) as bill:
                reply = await self.client.ask(question)
                bill.usage = reply.usage
                usages.append(reply.usage)
                models.append(reply.model)
                try:
                    return _checked(reply, brief)
                except BadAnswer as problem:
                    said = bill.problem = f"The model gave no proper answer: {problem}."
                    log.warning("The model gave no proper answer", judging=brief.asked.name, problem=str(problem))
        raise ScannerError(said, code=BABBLE)

    async def _failed(
        self, source: Source, report: Report, problem: ScannerError, since: datetime, usages: Sequence[Usage]
    ) -> Judgement:
        paid = sum(usages, Usage())
        async with self.store.begin() as db:
            first = await note_judge_error(
                db, source.digest, self.engine, self.prompt, paid, has_code=report.has_code, problem=problem.message
            )
        failing = self.clock.now() - max(first or self.clock.now(), since)
        if failing < self.options.patience:
            raise self._again(problem, failing)
        log.error("The judge has failed for too long; a person looks", digest=source.digest, problem=problem.message)
        return Judgement(self.engine, self.prompt, source.digest, (), (), "", Usage(), 0.0, problem=problem.message)

    def _again(self, problem: ScannerError, failing: timedelta) -> ScannerError:
        """The same, with how long to wait for it. What babbles over a skill is paid for each time, so it is asked ever
        more seldom: whoever writes a skill that makes it babble would spend the budget of all.
        """
        wait = problem.retry_after_seconds if problem.code in SAYS_WHEN else self.options.pause_seconds
        if problem.code == BABBLE:
            wait = max(wait, min(failing, LONGEST_PAUSE).total_seconds())
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


def _checked(reply: Reply, brief: Brief) -> Checked:
    if not reply.is_whole:
        raise BadAnswer("it was cut off or refused")
    return check_answer(reply.text, brief)


def _first(problems: ExceptionGroup[Exception]) -> Exception:
    """The failure that speaks for all; a bug before any other."""
    failures = list(problems.exceptions)
    return next((each for each in failures if not isinstance(each, ScannerError)), failures[0])
