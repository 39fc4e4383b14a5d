"""Look into what was found: one look a repository, however many skills it has, and one admission for all of them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import structlog

from assay.model.clock import Clock
from assay.model.discovery import RecordState, Tally
from assay.model.errors import Invalid, NotFound, RateLimited, Unavailable
from assay.model.submission import Origin
from assay.store.database.database import Database
from assay.store.discovery.records import Sight, TakenRecord, note_sight, postpone
from assay.store.discovery.runs import add_to_run
from assay.submit.admission import Admission
from assay.submit.bulk import accept_batch
from assay.submit.repository import RepositorySkills, SkillFinder
from assay.submit.repository_requests import request_all

log = structlog.get_logger()
# What a look costs: the repository, its newest commit, and the tree of that.
CALLS_PER_LOOK = 3
LONGEST_PAUSE = timedelta(days=1)
# A hiccup is over in a moment; what fails again and again is asked for less and less often.
FIRST_PAUSE_SECONDS, GROWS = 1.0, 4


@dataclass(frozen=True)
class Looker:
    """What looking needs."""

    store: Database
    finder: SkillFinder
    clock: Clock

    async def look_at_all(self, records: Sequence[TakenRecord], run_id: UUID, *, source: str) -> Tally:
        """All at once; each settles by itself, and none ends the others. Raises only if the database is away."""
        looks = (self._look_at(each, run_id, source) for each in records)
        results = await asyncio.gather(*looks, return_exceptions=True)
        total = Tally()
        for record, result in zip(records, results, strict=True):
            if isinstance(result, Tally):
                _add(total, result)
            elif isinstance(result, Unavailable) or not isinstance(result, Exception):
                raise result
            else:
                log.error("A repository could not be looked into", repository=str(record.repository), exc_info=result)
                problem = Unavailable(f"{type(result).__name__}: {result}", code="bug")
                _add(total, await self._postpone(record, run_id, problem))
        return total

    async def _look_at(self, record: TakenRecord, run_id: UUID, source: str) -> Tally:
        looked_at = self.clock.now()
        try:
            found = await self.finder.find(record.repository)
        except Unavailable as problem:
            return await self._postpone(record, run_id, problem)
        except (NotFound, Invalid) as problem:
            state = RecordState.MISSING if isinstance(problem, NotFound) else RecordState.REFUSED
            sight = Sight(state, looked_at, problem=problem.message)
            return await self._note(record, run_id, sight, Tally(looked=1, errors=1))
        if not found.skill_paths:
            paths = tuple(each.path for each in found.left_out)
            sight = Sight(RecordState.EMPTY, looked_at, found.commit, paths=paths, problem=_why_empty(found))
            return await self._note(record, run_id, sight, Tally(looked=1))
        return await self._submit(record, run_id, found, source)

    async def _submit(self, record: TakenRecord, run_id: UUID, found: RepositorySkills, source: str) -> Tally:
        """Submissions, record and counters commit together: what is counted is there, and what is there is counted."""
        actor = f"discovery:{source}"
        async with self.store.begin() as db:
            requests = await request_all(db, found, Origin.DISCOVERY, None, actor)
            batch = await accept_batch(db, requests, may_reopen=False)
            enqueued = batch.count(Admission.CREATED)
            paths = (*found.skill_paths, *(each.path for each in found.left_out))
            sight = Sight(RecordState.SUBMITTED, found.looked_at, found.commit, len(requests), paths)
            await note_sight(db, record.repository, sight)
            errors = len(batch.errors)
            tally = Tally(looked=1, enqueued=enqueued, existing=len(requests) - enqueued - errors, errors=errors)
            tally.repo_stats = {str(found.facts.name): enqueued} if enqueued else {}
            await add_to_run(db, run_id, tally)
        return tally

    async def _note(self, record: TakenRecord, run_id: UUID, sight: Sight, tally: Tally) -> Tally:
        async with self.store.begin() as db:
            await note_sight(db, record.repository, sight)
            await add_to_run(db, run_id, tally)
        return tally

    async def _postpone(self, record: TakenRecord, run_id: UUID, problem: Unavailable) -> Tally:
        """That GitHub does not answer says nothing about the repository: it stays found."""
        is_told_to_wait = isinstance(problem, RateLimited)
        pause = problem.retry_after_seconds if is_told_to_wait else FIRST_PAUSE_SECONDS * GROWS**record.attempts
        seconds = min(max(FIRST_PAUSE_SECONDS, pause), LONGEST_PAUSE.total_seconds())
        tally = Tally(errors=0 if is_told_to_wait else 1)
        async with self.store.begin() as db:
            await postpone(db, record.repository, problem.message, seconds=seconds, tried=not is_told_to_wait)
            await add_to_run(db, run_id, tally)
        log.info("A repository is looked into later", repository=str(record.repository), problem=problem.message)
        return tally


def _add(total: Tally, more: Tally) -> None:
    total.looked += more.looked
    total.enqueued += more.enqueued
    total.existing += more.existing
    total.errors += more.errors
    total.repo_stats |= more.repo_stats


def _why_empty(found: RepositorySkills) -> str:
    if found.left_out:
        return f"{found.left_out[0].path}: {found.left_out[0].why}"
    return "It holds no SKILL.md."
