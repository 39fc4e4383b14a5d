"""The second look: what is out is weighed again when the judge has not seen it, or when the rules have changed.

It works on the bytes that were published and asks no host for them. Versions stay live meanwhile. What it finds out is
certified, or taken back, in one transaction; the submission then goes its ordinary way once more, behind those who
wait, and ends where the policy says, with its reason.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.blobs.blobs import Blobs
from assay.certify.certify import certify
from assay.certify.keys import SigningKeys
from assay.llm.answer import covers
from assay.llm.judge import Judge
from assay.model.clock import Clock
from assay.model.errors import NotFound, Unavailable
from assay.model.finding import Report
from assay.model.human_decisions import Said
from assay.model.listing_status import Remark, VersionStatus
from assay.model.source import Source
from assay.model.verdict import Path, Weighed
from assay.moderation.withdraw import withdraw, yank
from assay.operations.requeue import requeue_quietly
from assay.policy.policy import FollowUp, Policy, follow_up, judge_report, weigh
from assay.runtime.loops import do_each, keep_going
from assay.scan_pool.pool import Scanners
from assay.serve.moderation.human_decisions import read_said
from assay.store.database.database import Database
from assay.store.scans.judgements import find_judgements
from assay.store.scans.rescans import Due, end_second_look, postpone_second_look, take_second_looks
from assay.store.scans.scans import Examined, find_reports, save_scans
from assay.store.versions.status import set_certificate, submissions_of, versions_with

log = structlog.get_logger()
BY = "second look"
AT_ONCE, BATCH = 2, 10
IDLE_SECONDS = 5.0
HELD_SECONDS = 600.0
LONGEST_PAUSE = timedelta(hours=6)


@dataclass(frozen=True)
class SecondLook:
    """What looking again needs."""

    store: Database
    blobs: Blobs
    scanners: Scanners
    judge: Judge | None
    policy: Policy
    keys: SigningKeys
    clock: Clock
    engine: str
    ruleset: str

    async def run(self, stopping: asyncio.Event) -> None:
        """Look at what is due until `stopping`; any number of processes may do so."""
        await keep_going(self._turn, stopping, "Nothing is looked at again for now", after_seconds=IDLE_SECONDS)

    async def look(self) -> int:
        """Look at a batch of what is due. Returns how many. What fails is held for a while, and then due again."""
        async with self.store.begin() as db:
            due = await take_second_looks(db, limit=BATCH, held_seconds=HELD_SECONDS)
        await do_each(due, self._look_at, "A second look is lost", at_once=AT_ONCE, name=lambda each: each.digest)
        return len(due)

    async def _turn(self) -> float:
        return 0.0 if await self.look() else IDLE_SECONDS

    async def _look_at(self, due: Due) -> None:
        try:
            source = await self.blobs.load(due.digest)
            weighed = await self._weigh(due, source)
        except (NotFound, Unavailable) as problem:
            log.info("A content could not be looked at again", digest=due.digest, problem=problem.message)
            seconds = problem.retry_after_seconds if isinstance(problem, Unavailable) else 3600
            after = min(timedelta(seconds=seconds) * 2 ** min(due.failures, 16), LONGEST_PAUSE)
            async with self.store.begin() as db:
                await postpone_second_look(db, due.digest, problem.message, after=after)
            return
        async with self.store.begin() as db:
            await save_scans(db, 1, [Examined(source.manifest, weighed.report, weighed.static)])
            await self._apply(db, source, weighed, was_fast_approved=due.why == Path.FAST_APPROVE)
            await end_second_look(db, due.digest)

    async def _weigh(self, due: Due, source: Source) -> Weighed:
        async with self.store.begin() as db:
            reports = await find_reports(db, [due.digest], 1, self.engine, self.ruleset)
            key = (self.judge.engine, self.judge.prompt) if self.judge else None
            judged = await find_judgements(db, [due.digest], *key) if key else {}
        report = reports.get(due.digest) or await self.scanners.scan(source)
        known = judged.get(due.digest)
        if known is not None and not covers(known, report):
            known = None
        static, verdict = judge_report(report, self.policy), weigh(report, self.policy, known)
        if self.judge is not None and (verdict is None or verdict.path is Path.FAST_APPROVE):
            return await self._ask(self.judge, source, report)
        assert verdict is not None
        return Weighed(report, known, verdict, static)

    async def _ask(self, judge: Judge, source: Source, report: Report) -> Weighed:
        """Nobody waits, so the judge is waited for as long as it takes."""
        judgement = await judge.judge(source, report, since=self.clock.now())
        verdict = weigh(report, self.policy, judgement)
        assert verdict is not None
        return Weighed(report, judgement, verdict, judge_report(report, self.policy))

    async def _apply(self, db: AsyncConnection, source: Source, weighed: Weighed, *, was_fast_approved: bool) -> None:
        """In every listing of these bytes; what people have said of them there comes before the policy."""
        now, message = self.clock.now(), ""
        concerned: set[UUID] = set()
        for listing, version in await versions_with(db, source.digest):
            if version.status is VersionStatus.WITHDRAWN:
                continue
            said = await read_said(db, listing.id, source.digest, version.tier)
            heard = self._hear(weighed, said)
            action = follow_up(heard.verdict, was_fast_approved=was_fast_approved)
            if action is FollowUp.CERTIFY:
                review = said.approval_of(weighed.report)
                certificate = certify(
                    listing.name, source.manifest, version.commit, heard, self.keys, now, review=review
                )
                await set_certificate(db, listing, version, certificate)
                continue
            reason = heard.verdict.reason
            assert reason is not None
            why = Remark(reason.code, reason.message, now, BY)
            if action is FollowUp.WITHDRAW:
                await withdraw(db, listing.name, version.version, why)
            elif action is FollowUp.YANK and version.status is VersionStatus.LIVE:
                await yank(db, listing.name, version.version, why)
            log.warning(f"{action}: {listing.name} {version.version}", reason=why.code)
            concerned.update(await submissions_of(db, listing.id))
            message = reason.message
        # All at once and in order, because others lock them, too.
        if concerned:
            await requeue_quietly(db, sorted(concerned), by=BY, reason=message)

    def _hear(self, weighed: Weighed, said: Said) -> Weighed:
        """The verdict in one listing: without what is suppressed there, and after a person was asked."""
        heard = said.heard(weighed.report)
        verdict = weighed.verdict
        if heard is not weighed.report:
            verdict = weigh(heard, self.policy, weighed.judgement) or verdict
        return replace(weighed, verdict=said.overrule(verdict, weighed.report))
