"""Replay: what another ruleset would say of everything that is published, before it is activated.

It reads the bytes that were published, some at a time, and keeps what was said by content: one that was cut short goes
on where it stopped, and equal bytes are looked at once. Nothing that is published changes.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.blobs.blobs import Blobs
from assay.judge.answer import covers
from assay.judge.policy import Policy, judge_report, weigh
from assay.model.errors import NotFound
from assay.model.finding import Report
from assay.model.judgement import Judgement
from assay.model.submission import Reason
from assay.model.verdict import Decision, Outcome, Path, Verdict
from assay.scan.ruleset import Ruleset
from assay.scan.scan import ENGINE, scan_source
from assay.store.chores import read_position, save_position
from assay.store.database import Database
from assay.store.judgements import find_judgements
from assay.store.replays import Target, activate_ruleset, find_stale, forget_other_replays, next_targets, save_replay
from assay.store.second_looks import add_second_looks, count_second_looks

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
        scanned = unreadable = looked_at = 0
        while at_most is None or looked_at < at_most:
            limit = BATCH if at_most is None else min(BATCH, at_most - looked_at)
            async with self.store.begin() as db:
                targets = await next_targets(db, ruleset.version, after, limit)
            fresh = {each.digest: each for each in targets if not each.is_known}
            for target in fresh.values():
                if await self._one(target, ruleset):
                    scanned += 1
                else:
                    unreadable += 1
            looked_at += len(targets)
            progress(len(targets))
            if len(targets) < limit:
                return Replayed(scanned, unreadable, None)
            after = targets[-1].skill_id
        return Replayed(scanned, unreadable, after)

    async def _one(self, target: Target, ruleset: Ruleset) -> bool:
        try:
            source = await self.blobs.load(target.digest)
        except NotFound as problem:
            log.warning("A content could not be replayed", digest=target.digest, problem=problem.message)
            return False
        report = await asyncio.to_thread(scan_source, source, ruleset)
        async with self.store.begin() as db:
            judged = await find_judgements(db, [target.digest], *self.judge) if self.judge else {}
            verdict = would_be(report, self.policy, judged.get(target.digest))
            await save_replay(db, ruleset.version, target.digest, verdict)
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
        log.info("Another ruleset is active: verdicts of the one before are stale", ruleset=ruleset)
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
