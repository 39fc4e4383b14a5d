"""Replay of another ruleset over everything published, without changing anything.

Results are stored per content: an interrupted replay resumes, and equal contents are scanned once.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.blobs.blobs import Blobs
from assay.llm.answer import judgement_covers
from assay.model.errors import NotFound, Unavailable
from assay.model.finding import Report
from assay.model.submission import Reason
from assay.model.verdict import Decision, JudgeKey, Judgement, Outcome, Path, Verdict
from assay.policy.policy import Policy, decide_verdict, static_verdict
from assay.scan.ruleset import Ruleset
from assay.scan.scan import ENGINE
from assay.scan_pool.pool import ScanPool, ScanPoolOptions, open_scan_pool
from assay.store.database.database import Database
from assay.store.operations.periodic_jobs import read_position, save_position
from assay.store.scans.judgements import find_judgements
from assay.store.scans.replays import (
    activate_ruleset,
    delete_other_replays,
    find_stale,
    list_replay_targets,
    save_replay,
)
from assay.store.scans.rescans import add_rescans, count_rescans

log = structlog.get_logger()
BATCH = 50
FIND_STALE = "find stale verdicts"
# Listings checked per run, and the number of waiting rescans at which no more are scheduled.
STALE_BATCH, MAX_WAITING = 1_000, 2_000
WHY = "ruleset"
DONE = "done"


@dataclass(frozen=True)
class Replayed:
    """The number of contents scanned and unreadable, and the listing after which to continue, unless finished."""

    scanned: int
    unreadable: int
    after: UUID | None


@dataclass(frozen=True)
class Replay:
    store: Database
    blobs: Blobs
    policy: Policy
    judge: JudgeKey | None
    # Rules and skills are untrusted: both stay in scan processes with limits.
    scanners: ScanPoolOptions

    async def run(
        self,
        ruleset: Ruleset,
        *,
        after: UUID | None = None,
        at_most: int | None = None,
        progress: Callable[[int], None] = lambda _: None,
    ) -> Replayed:
        """Replay `ruleset` over live listings, starting after `after`, at most `at_most` of them."""
        async with self.store.begin() as db:
            await delete_other_replays(db, ruleset.version)
        async with open_scan_pool(self.scanners, ruleset) as scanners:
            return await self._replay_listings(ruleset.version, scanners, after, at_most, progress)

    async def _replay_listings(
        self,
        version: str,
        scanners: ScanPool,
        after: UUID | None,
        at_most: int | None,
        progress: Callable[[int], None],
    ) -> Replayed:
        scanned = unreadable = checked = 0
        while at_most is None or checked < at_most:
            limit = BATCH if at_most is None else min(BATCH, at_most - checked)
            async with self.store.begin() as db:
                targets = await list_replay_targets(db, version, after, limit)
            fresh = {each.digest for each in targets if not each.is_known}
            read = await self._scan_contents(sorted(fresh), version, scanners)
            scanned, unreadable = scanned + read, unreadable + len(fresh) - read
            checked += len(targets)
            progress(len(targets))
            if len(targets) < limit:
                return Replayed(scanned, unreadable, None)
            after = targets[-1].skill_id
        return Replayed(scanned, unreadable, after)

    async def _scan_contents(self, digests: Sequence[str], version: str, scanners: ScanPool) -> int:
        """Scan contents, one per process at a time; return the number of readable ones."""
        gate = asyncio.Semaphore(self.scanners.processes)

        async def one(digest: str) -> bool:
            async with gate:
                return await self._scan_content(digest, version, scanners)

        # Wait for all even if one fails: none may use the pool after it is closed.
        results = await asyncio.gather(*map(one, digests), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return results.count(True)

    async def _scan_content(self, digest: str, version: str, scanners: ScanPool) -> bool:
        try:
            report = await scanners.scan(await self.blobs.load(digest))
        except (NotFound, Unavailable) as error:
            log.warning("Failed to replay the rules on a skill", digest=digest, error=error.message)
            return False
        async with self.store.begin() as db:
            judged = await find_judgements(db, [digest], *self.judge) if self.judge else {}
            verdict = predict_verdict(report, self.policy, judged.get(digest))
            await save_replay(db, version, digest, verdict)
        return True


def predict_verdict(report: Report, policy: Policy, judgement: Judgement | None) -> Verdict:
    """Return the verdict under another ruleset; where it would need the judge, a review with the reason `ask`."""
    known = judgement if judgement is not None and judgement_covers(judgement, report) else None
    verdict = decide_verdict(report, policy, known)
    if verdict is not None:
        return verdict
    static = static_verdict(report, policy)
    message = static.reason.message if static.reason else f"Scored {static.score} of 100."
    reason = Reason("ask", f"The judge would decide: {message}")
    return Verdict(static.score, Outcome.CONCERNS, Decision.REVIEW, Path.STATIC, reason)


async def find_stale_verdicts(db: AsyncConnection, ruleset: str) -> int:
    """Schedule rescans of listings that the active ruleset has not scanned, in batches; return their number.

    A new ruleset starts from the first listing. Once all are found, nothing happens until the next ruleset.
    """
    if await activate_ruleset(db, ruleset):
        log.info("Activated a ruleset; verdicts of other rulesets are stale", ruleset=ruleset)
    known, _, position = (await read_position(db, FIND_STALE) or "").partition(" ")
    if known == ruleset and position == DONE:
        return 0
    if await count_rescans(db, MAX_WAITING) >= MAX_WAITING:
        return 0
    after = UUID(position) if known == ruleset and position else None
    stale, next_position = await find_stale(db, ENGINE, ruleset, after, STALE_BATCH)
    if stale:
        await add_rescans(db, stale, why=WHY)
    await save_position(db, FIND_STALE, f"{ruleset} {next_position or DONE}")
    return len(stale)
