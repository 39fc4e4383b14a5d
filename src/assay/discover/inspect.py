"""Inspection of candidates: list the skills of each repository once and submit all of them in one batch."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import structlog

from assay.model.clock import Clock
from assay.model.discovery import RecordState, RunCounters
from assay.model.errors import Invalid, NotFound, RateLimited, Unavailable
from assay.model.submission import Origin
from assay.store.database.database import Database
from assay.store.discovery.records import ClaimedRecord, Inspection, postpone_record, record_inspection
from assay.store.discovery.runs import add_to_counters
from assay.submit.admission import Admission
from assay.submit.bulk import admit_batch
from assay.submit.repository import RepositorySkills, SkillFinder
from assay.submit.repository_requests import request_all

log = structlog.get_logger()
# The repository, its newest commit, and the tree of that commit.
CALLS_PER_INSPECTION = 3
LONGEST_PAUSE = timedelta(days=1)
# Exponential backoff of repositories that cannot be read.
FIRST_PAUSE_SECONDS, BACKOFF_FACTOR = 1.0, 4


@dataclass(frozen=True)
class Inspector:
    """Inspects candidate repositories and submits their skills."""

    store: Database
    finder: SkillFinder
    clock: Clock

    async def inspect_all(self, records: Sequence[ClaimedRecord], run_id: UUID, *, source: str) -> RunCounters:
        """Inspect all repositories concurrently; one failure does not affect the others.

        Raises Unavailable only if the database is down.
        """
        inspections = (self._inspect(each, run_id, source) for each in records)
        results = await asyncio.gather(*inspections, return_exceptions=True)
        total = RunCounters()
        for record, result in zip(records, results, strict=True):
            if isinstance(result, RunCounters):
                _add(total, result)
            elif isinstance(result, Unavailable) or not isinstance(result, Exception):
                raise result
            else:
                log.error("Failed to inspect a repository", repository=str(record.repository), exc_info=result)
                problem = Unavailable(f"{type(result).__name__}: {result}", code="bug")
                _add(total, await self._postpone(record, run_id, problem))
        return total

    async def _inspect(self, record: ClaimedRecord, run_id: UUID, source: str) -> RunCounters:
        inspected_at = self.clock.now()
        try:
            found = await self.finder.find(record.repository)
        except Unavailable as problem:
            return await self._postpone(record, run_id, problem)
        except (NotFound, Invalid) as problem:
            state = RecordState.MISSING if isinstance(problem, NotFound) else RecordState.REFUSED
            inspection = Inspection(state, inspected_at, problem=problem.message)
            return await self._record(record, run_id, inspection, RunCounters(looked=1, errors=1))
        if not found.skill_paths:
            paths = tuple(each.path for each in found.left_out)
            inspection = Inspection(
                RecordState.EMPTY, inspected_at, found.commit, paths=paths, problem=_empty_reason(found)
            )
            return await self._record(record, run_id, inspection, RunCounters(looked=1))
        return await self._submit(record, run_id, found, source)

    async def _submit(self, record: ClaimedRecord, run_id: UUID, found: RepositorySkills, source: str) -> RunCounters:
        """Create submissions and update the record and counters in one transaction, so that the counts are exact."""
        actor = f"discovery:{source}"
        async with self.store.begin() as db:
            requests = await request_all(db, found, Origin.DISCOVERY, None, actor)
            batch = await admit_batch(db, requests, may_reopen=False)
            enqueued = batch.count(Admission.CREATED)
            paths = (*found.skill_paths, *(each.path for each in found.left_out))
            inspection = Inspection(RecordState.SUBMITTED, found.inspected_at, found.commit, len(requests), paths)
            await record_inspection(db, record.repository, inspection)
            errors = len(batch.errors)
            counters = RunCounters(
                looked=1, enqueued=enqueued, existing=len(requests) - enqueued - errors, errors=errors
            )
            counters.repo_stats = {str(found.facts.name): enqueued} if enqueued else {}
            await add_to_counters(db, run_id, counters)
        return counters

    async def _record(
        self, record: ClaimedRecord, run_id: UUID, inspection: Inspection, counters: RunCounters
    ) -> RunCounters:
        async with self.store.begin() as db:
            await record_inspection(db, record.repository, inspection)
            await add_to_counters(db, run_id, counters)
        return counters

    async def _postpone(self, record: ClaimedRecord, run_id: UUID, problem: Unavailable) -> RunCounters:
        """Schedule a retry; an unavailable host says nothing about the repository."""
        is_rate_limited = isinstance(problem, RateLimited)
        pause = (
            problem.retry_after_seconds if is_rate_limited else FIRST_PAUSE_SECONDS * BACKOFF_FACTOR**record.attempts
        )
        seconds = min(max(FIRST_PAUSE_SECONDS, pause), LONGEST_PAUSE.total_seconds())
        counters = RunCounters(errors=0 if is_rate_limited else 1)
        async with self.store.begin() as db:
            await postpone_record(db, record.repository, problem.message, seconds=seconds, tried=not is_rate_limited)
            await add_to_counters(db, run_id, counters)
        log.info("Postponed inspection of a repository", repository=str(record.repository), error=problem.message)
        return counters


def _add(total: RunCounters, more: RunCounters) -> None:
    total.looked += more.looked
    total.enqueued += more.enqueued
    total.existing += more.existing
    total.errors += more.errors
    total.repo_stats |= more.repo_stats


def _empty_reason(found: RepositorySkills) -> str:
    if found.left_out:
        return f"{found.left_out[0].path}: {found.left_out[0].why}"
    return "The repository contains no SKILL.md."
