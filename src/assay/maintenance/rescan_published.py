"""Rescans of published content: after fast approvals, and after changes of the ruleset.

Rescans read stored content, not its source, and versions stay live meanwhile. In one transaction the version is
certified again, or yanked or withdrawn. In the latter cases the submission starts a new cycle, behind new submissions,
and ends in the state that the policy decides.
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
from assay.llm.answer import judgement_covers
from assay.llm.judge import Judge
from assay.model.clock import Clock
from assay.model.errors import NotFound, Unavailable
from assay.model.finding import Report
from assay.model.moderation import HumanDecisions
from assay.model.skill import StatusReason, VersionStatus
from assay.model.source import Source
from assay.model.verdict import Assessment, Path
from assay.moderation.withdraw import withdraw, yank
from assay.operations.requeue import requeue_behind_new
from assay.policy.policy import FollowUp, Policy, decide_verdict, follow_up, static_verdict
from assay.runtime.loops import for_each_bounded, run_until_stopped
from assay.scan_pool.pool import ScanPool
from assay.serve.moderation.human_decisions import read_human_decisions
from assay.store.database.database import Database
from assay.store.scans.judgements import find_judgements
from assay.store.scans.rescans import DueRescan, claim_rescans, finish_rescan, postpone_rescan
from assay.store.scans.scans import ScannedContent, find_reports, save_scans
from assay.store.submissions.submissions import list_ids_of_skill
from assay.store.versions.status import lock_versions_with, set_certificate

log = structlog.get_logger()
BY = "second look"
AT_ONCE, BATCH = 2, 10
IDLE_SECONDS = 5.0
LEASE_SECONDS = 600.0
MAX_PAUSE = timedelta(hours=6)


@dataclass(frozen=True)
class PublishedRescanner:
    store: Database
    blobs: Blobs
    scanners: ScanPool
    judge: Judge | None
    policy: Policy
    keys: SigningKeys
    clock: Clock
    engine: str
    ruleset: str

    async def run(self, stopping: asyncio.Event) -> None:
        """Rescan due contents until `stopping` is set. Any number of processes may run this."""
        await run_until_stopped(self._run_once, stopping, "Failed to run rescans", after_seconds=IDLE_SECONDS)

    async def run_batch(self) -> int:
        """Rescan a batch of due contents; return their number. Failed ones are due again when their lease expires."""
        async with self.store.begin() as db:
            due = await claim_rescans(db, limit=BATCH, held_seconds=LEASE_SECONDS)
        await for_each_bounded(
            due, self._rescan, "Failed to rescan published content", at_once=AT_ONCE, name=lambda each: each.digest
        )
        return len(due)

    async def _run_once(self) -> float:
        return 0.0 if await self.run_batch() else IDLE_SECONDS

    async def _rescan(self, due: DueRescan) -> None:
        try:
            source = await self.blobs.load(due.digest)
            assessment = await self._assess(due, source)
        except (NotFound, Unavailable) as error:
            log.info("Postponed a rescan", digest=due.digest, error=error.message)
            seconds = error.retry_after_seconds if isinstance(error, Unavailable) else 3600
            after = min(timedelta(seconds=seconds) * 2 ** min(due.failures, 16), MAX_PAUSE)
            async with self.store.begin() as db:
                await postpone_rescan(db, due.digest, error.message, after=after)
            return
        async with self.store.begin() as db:
            await save_scans(db, 1, [ScannedContent(source.manifest, assessment.report, assessment.static)])
            await self._apply(db, source, assessment, was_fast_approved=due.why == Path.FAST_APPROVE)
            await finish_rescan(db, due.digest)

    async def _assess(self, due: DueRescan, source: Source) -> Assessment:
        async with self.store.begin() as db:
            reports = await find_reports(db, [due.digest], 1, self.engine, self.ruleset)
            key = (self.judge.engine, self.judge.prompt) if self.judge else None
            judged = await find_judgements(db, [due.digest], *key) if key else {}
        report = reports.get(due.digest) or await self.scanners.scan(source)
        known = judged.get(due.digest)
        if known is not None and not judgement_covers(known, report):
            known = None
        static, verdict = static_verdict(report, self.policy), decide_verdict(report, self.policy, known)
        if self.judge is not None and (verdict is None or verdict.path is Path.FAST_APPROVE):
            return await self._judge_content(self.judge, source, report)
        assert verdict is not None
        return Assessment(report, known, verdict, static)

    async def _judge_content(self, judge: Judge, source: Source, report: Report) -> Assessment:
        """Judge without a time limit, because no submission waits for the result."""
        judgement = await judge.judge(source, report, since=self.clock.now())
        verdict = decide_verdict(report, self.policy, judgement)
        assert verdict is not None
        return Assessment(report, judgement, verdict, static_verdict(report, self.policy))

    async def _apply(
        self, db: AsyncConnection, source: Source, assessment: Assessment, *, was_fast_approved: bool
    ) -> None:
        """Apply the assessment to every listing with this content; human decisions there override the policy."""
        now, message = self.clock.now(), ""
        affected: set[UUID] = set()
        for listing, version in await lock_versions_with(db, source.digest):
            if version.status is VersionStatus.WITHDRAWN:
                continue
            decisions = await read_human_decisions(db, listing.id, source.digest, version.tier)
            final = self._apply_decisions(assessment, decisions)
            action = follow_up(final.verdict, was_fast_approved=was_fast_approved)
            if action is FollowUp.CERTIFY:
                review = decisions.approval_of(assessment.report)
                certificate = certify(
                    listing.name, source.manifest, version.commit, final, self.keys, now, review=review
                )
                await set_certificate(db, listing, version, certificate)
                continue
            reason = final.verdict.reason
            assert reason is not None
            why = StatusReason(reason.code, reason.message, now, BY)
            if action is FollowUp.WITHDRAW:
                await withdraw(db, listing.name, version.version, why)
            elif action is FollowUp.YANK and version.status is VersionStatus.LIVE:
                await yank(db, listing.name, version.version, why)
            log.warning(
                "Rescan changed a version",
                action=action.value,
                skill=listing.name,
                version=version.version,
                reason=why.code,
            )
            affected.update(await list_ids_of_skill(db, listing.id))
            message = reason.message
        # Locked together and in order to avoid deadlocks.
        if affected:
            await requeue_behind_new(db, sorted(affected), by=BY, reason=message)

    def _apply_decisions(self, assessment: Assessment, decisions: HumanDecisions) -> Assessment:
        """Return the assessment for one listing: without its suppressed findings, and after its human decisions."""
        counted = decisions.without_suppressed(assessment.report)
        verdict = assessment.verdict
        if counted is not assessment.report:
            verdict = decide_verdict(counted, self.policy, assessment.judgement) or verdict
        return replace(assessment, verdict=decisions.apply_to(verdict, assessment.report))
