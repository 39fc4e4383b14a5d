"""Replay: what another ruleset would say of everything that is published, before it is activated.

It reads the bytes that were published, some at a time, and keeps what was said by content: one that was cut short goes
on where it stopped, and equal bytes are looked at once. Nothing that is published changes.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.blobs.blobs import Blobs
from assay.llm.answer import covers
from assay.model.errors import NotFound, Unavailable
from assay.model.finding import Report
from assay.model.judgement import Judgement
from assay.model.submission import Reason
from assay.model.verdict import Decision, Outcome, Path, Verdict
from assay.policy.policy import Policy, judge_report, weigh
from assay.scan.ruleset import Ruleset
from assay.scan.scan import ENGINE
from assay.scan_pool.pool import ScannerOptions, Scanners, open_scanners
from assay.store.database.database import Database
from assay.store.operations.periodic_jobs import read_position, save_position
from assay.store.scans.judgements import find_judgements
from assay.store.scans.replays import activate_ruleset, find_stale, forget_other_replays, next_targets, save_replay
from assay.store.scans.rescans import add_second_looks, count_second_looks

log = structlog.get_logger()
BATCH = 50
FIND_STALE = "find stale verdicts"
# So many listings are looked at in a turn, and no more as long as so many wait.
LOOKED_AT, WAITING = 1_000, 2_000
WHY = "ruleset"
DONE = "done"
# Who judges, and in which words it is asked.
JudgeKey = tuple[str, str]


@dataclass(frozen=True)
class Replayed:
    """How many contents were scanned and could not be read in this run; after which listing it goes on, if it does."""

    scanned: int
    unreadable: int
    after: UUID | None


@dataclass(frozen=True)
class Replay:
    """What a replay needs."""

    store: Database
    blobs: Blobs
    policy: Policy
    judge: JudgeKey | None
    # Rules and skills are anybody's: both stay in processes that are bounded.
    scanners: ScannerOptions

    async def run(
        self,
        ruleset: Ruleset,
        *,
        after: UUID | None = None,
        at_most: int | None = None,
        progress: Callable[[int], None] = lambda _: None,
    ) -> Replayed:
        """Go through the live listings after this one, all of them or at most so many."""
        async with self.store.begin() as db:
            await forget_other_replays(db, ruleset.version)
        async with open_scanners(self.scanners, ruleset) as scanners:
            return await self._go_through(ruleset.version, scanners, after, at_most, progress)

    async def _go_through(
        self,
        version: str,
        scanners: Scanners,
        after: UUID | None,
        at_most: int | None,
        progress: Callable[[int], None],
    ) -> Replayed:
        scanned = unreadable = looked_at = 0
        while at_most is None or looked_at < at_most:
            limit = BATCH if at_most is None else min(BATCH, at_most - looked_at)
            async with self.store.begin() as db:
                targets = await next_targets(db, version, after, limit)
            fresh = {each.digest for each in targets if not each.is_known}
            read = await self._try_all(sorted(fresh), version, scanners)
            scanned, unreadable = scanned + read, unreadable + len(fresh) - read
            looked_at += len(targets)
            progress(len(targets))
            if len(targets) < limit:
                return Replayed(scanned, unreadable, None)
            after = targets[-1].skill_id
        return Replayed(scanned, unreadable, after)

    async def _try_all(self, digests: Sequence[str], version: str, scanners: Scanners) -> int:
        """As many at a time as there are processes. Returns how many could be read."""
        gate = asyncio.Semaphore(self.scanners.processes)

        async def one(digest: str) -> bool:
            async with gate:
                return await self._one(digest, version, scanners)

        # All are waited for, also if one fails: none may ask for a process when the pool is closed.
        results = await asyncio.gather(*map(one, digests), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return results.count(True)

    async def _one(self, digest: str, version: str, scanners: Scanners) -> bool:
        try:
            report = await scanners.scan(await self.blobs.load(digest))
        except (NotFound, Unavailable) as problem:
            log.warning("A content could not be replayed", digest=digest, problem=problem.message)
            return False
        async with self.store.begin() as db:
            judged = await find_judgements(db, [digest], *self.judge) if self.judge else {}
            verdict = would_be(report, self.policy, judged.get(digest))
            await save_replay(db, version, digest, verdict)
        return True


def would_be(report: Report, policy: Policy, judgement: Judgement | None) -> Verdict:
    """The verdict; what the judge would have to be asked about is told as something that a person may want to know."""
    known = judgement if judgement is not None and covers(judgement, report) else None
    verdict = weigh(report, policy, known)
    if verdict is not None:
        return verdict
    static = judge_report(report, policy)
    said = static.reason.message if static.reason else f"Scored {static.score} of 100."
    return Verdict(static.score, Outcome.CONCERNS, Decision.REVIEW, Path.STATIC, Reason("ask", f"To the judge: {said}"))


async def find_stale_verdicts(db: AsyncConnection, ruleset: str) -> int:
    """Have those looked at again that the rules of now have not seen, some of them each time. Returns how many.

    A new ruleset starts from the beginning; when all are found, there is nothing to do until the next one.
    """
    if await activate_ruleset(db, ruleset):
        log.info("These rules are active; verdicts of any others are stale", ruleset=ruleset)
    known, _, place = (await read_position(db, FIND_STALE) or "").partition(" ")
    if known == ruleset and place == DONE:
        return 0
    if await count_second_looks(db, WAITING) >= WAITING:
        return 0
    after = UUID(place) if known == ruleset and place else None
    stale, onward = await find_stale(db, ENGINE, ruleset, after, LOOKED_AT)
    if stale:
        await add_second_looks(db, stale, why=WHY)
    await save_position(db, FIND_STALE, f"{ruleset} {onward or DONE}")
    return len(stale)
