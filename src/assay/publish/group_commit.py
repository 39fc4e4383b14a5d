"""Group commit: the changes of concurrent submissions in one transaction.

Each transaction costs a round trip, a commit and a flush to disk. With 200 submissions in flight, others usually have
something to write at the same time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.certify.keys import SigningKeys
from assay.model.deep_scan import DeepTool
from assay.model.errors import Unavailable
from assay.model.finding import Report
from assay.model.job import Job
from assay.model.moderation import NO_DECISIONS, HumanDecisions
from assay.model.source import Source
from assay.model.submission import State, Submission
from assay.model.verdict import JudgeKey, Judgement
from assay.publish.publish import Approved, publish_new_listings, publish_to_listing
from assay.queue.batching import Batcher
from assay.store.database.database import Database
from assay.store.moderation.reviews import find_human_decisions
from assay.store.queue.pauses import read_pause
from assay.store.scans.deep_scans import dispatch_deep_scans
from assay.store.scans.judgements import find_judgements
from assay.store.scans.scans import ScannedContent, find_reports, save_scans
from assay.store.skills.skills import find_names
from assay.store.submissions.transitions import LostLease, Move, Step, claim_submissions, move_all

MAX_BATCH = 50


class QueuePaused(Unavailable):
    """The queue was paused after the job was claimed; the job must be requeued."""

    code = "queue_paused"


@dataclass(frozen=True)
class Started:
    """A submission in TIER1_SCANNING with the stored results for its content, the listing name and human decisions."""

    submission: Submission
    report: Report | None
    judgement: Judgement | None
    listed_name: str | None
    decisions: HumanDecisions = NO_DECISIONS


class GroupCommit:
    """Claims, state changes and publications of one worker process."""

    def __init__(
        self,
        store: Database,
        *,
        worker: str,
        lease_seconds: float,
        engine: str,
        ruleset: str,
        judge: JudgeKey | None = None,
        keys: SigningKeys,
        deep_tools: Sequence[DeepTool] = (),
    ) -> None:
        self._store = store
        self._keys = keys
        self._worker = worker
        self._lease_seconds = lease_seconds
        self._engine = engine
        self._ruleset = ruleset
        self._judge = judge
        self._deep_tools = deep_tools
        self._claims = Batcher(self._claim_all, at_most=MAX_BATCH)
        self._starts = Batcher(self._start_all, at_most=MAX_BATCH)
        self._judgings = Batcher(self._judge_all, at_most=MAX_BATCH)
        self._publications = Batcher(self._publish_all, at_most=MAX_BATCH)

    async def claim(self, job: Job) -> Submission | None:
        """Return the job's submission with a new lease, or None if its cycle is over. Raises QueuePaused."""
        return await self._claims.do(job)

    async def start_scan(self, submission: Submission, source: Source) -> Started:
        """Move to TIER1_SCANNING. Raises LostLease."""
        return await self._starts.do((submission, source))

    async def start_judging(self, submission: Submission, scanned: ScannedContent) -> Submission:
        """Store the static scan and move to TIER2_SCANNING. Raises LostLease."""
        return await self._judgings.do((submission, scanned))

    async def publish(self, submission: Submission, approved: Approved) -> Submission:
        """Publish, or refuse because the name or folder belongs to another listing."""
        published = await self._publications.do((submission, approved)) if submission.skill_id is None else None
        if published is not None:
            return published
        async with self._store.begin() as db:
            finished = await publish_to_listing(db, submission, approved, self._keys)
            await self._dispatch_deep_scans(db, [(finished, approved)], again=True)
            return finished

    async def _claim_all(self, jobs: Sequence[Job]) -> list[Submission | None]:
        items = [(job.subject_id, job.cycle) for job in jobs]
        async with self._store.begin() as db:
            if await read_pause(db) is not None:
                raise QueuePaused("The queue is paused.")
            claimed = await claim_submissions(db, items, worker=self._worker, lease_seconds=self._lease_seconds)
        return [claimed.get(job.subject_id) for job in jobs]

    async def _start_all(self, items: Sequence[tuple[Submission, Source]]) -> list[Started]:
        async with self._store.begin() as db:
            digests = [source.digest for _, source in items]
            known = await find_reports(db, digests, 1, self._engine, self._ruleset)
            judged = await find_judgements(db, digests, *self._judge) if self._judge else {}
            listed = [submission.skill_id for submission, _ in items if submission.skill_id]
            names = await find_names(db, listed) if listed else {}
            decisions = await find_human_decisions(db, [(submission, source.digest) for submission, source in items])
            moved = await move_all(db, [_fetched(submission, source) for submission, source in items])
            if len(moved) != len(items):
                # Rolls the batch back; the items then run alone, and only the one that lost its lease fails.
                raise LostLease("A submission was taken over while it was being fetched.")
        return [
            Started(
                moved[submission.id],
                known.get(source.digest),
                judged.get(source.digest),
                names.get(submission.skill_id) if submission.skill_id else None,
                each,
            )
            for (submission, source), each in zip(items, decisions, strict=True)
        ]

    async def _judge_all(self, items: Sequence[tuple[Submission, ScannedContent]]) -> list[Submission]:
        assert self._judge is not None
        async with self._store.begin() as db:
            await save_scans(db, 1, [scanned for _, scanned in items])
            step = Step(State.TIER2_SCANNING, "scanned", {"engine": self._judge[0]})
            moved = await move_all(
                db,
                [
                    Move(submission, (step,), "worker", {"content_digest": scanned.report.digest})
                    for submission, scanned in items
                ],
            )
            if len(moved) != len(items):
                raise LostLease("A submission was taken over while it was being scanned.")
        return [moved[submission.id] for submission, _ in items]

    async def _publish_all(self, items: Sequence[tuple[Submission, Approved]]) -> list[Submission | None]:
        async with self._store.begin() as db:
            finished = await publish_new_listings(db, items)
            sources = [(each, approved) for each, (_, approved) in zip(finished, items, strict=True) if each]
            await self._dispatch_deep_scans(db, sources, again=False)
            return finished

    async def _dispatch_deep_scans(
        self, db: AsyncConnection, finished: Sequence[tuple[Submission, Approved]], *, again: bool
    ) -> None:
        """Dispatch deep scans of published content in the same transaction."""
        sources = [approved.source for each, approved in finished if each.state is State.PUBLISHED]
        await dispatch_deep_scans(
            db, [(source.digest, source.commit) for source in sources], self._deep_tools, again=again
        )


def _fetched(submission: Submission, source: Source) -> Move:
    step = Step(State.TIER1_SCANNING, "fetched", {"commit": source.commit})
    return Move(submission, (step,), "worker", {})
