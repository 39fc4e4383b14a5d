"""The worker's ledger: what many submissions have to write at the same moment goes into one transaction.

A transaction costs a round trip, a commit and a flush to disk, whatever it writes. With 200 submissions in flight
there are always others that have something to write, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.certify.keys import SigningKeys
from assay.model.deep_scan import DeepTool
from assay.model.errors import Unavailable
from assay.model.finding import Report
from assay.model.human_decisions import NOTHING_SAID, Said
from assay.model.job import Job
from assay.model.judgement import Judgement
from assay.model.source import Source
from assay.model.submission import State, Submission
from assay.publish.publish import Approved, publish_again, publish_all
from assay.queue.group import Batches
from assay.store.database.database import Database
from assay.store.moderation.reviews import find_said
from assay.store.queue.pauses import read_pause
from assay.store.scans.deep_scans import dispatch
from assay.store.scans.judgements import find_judgements
from assay.store.scans.scans import Examined, find_reports, save_scans
from assay.store.skills.skills import find_names
from assay.store.submissions.transitions import LostLease, Move, Step, claim_submissions, move_all

AT_MOST = 50
# Who judges, and in which words it is asked.
JudgeKey = tuple[str, str]


class QueuePaused(Unavailable):
    """Jobs that were taken out of the queue just before it was paused have to go back."""

    code = "queue_paused"


@dataclass(frozen=True)
class Started:
    """A submission that is being scanned; what is known of its bytes, under which name the skill is listed, and what
    people have said.
    """

    submission: Submission
    report: Report | None
    judgement: Judgement | None
    listed: str | None
    said: Said = NOTHING_SAID


class Ledger:
    """Claims, starts and publishes for one worker process."""

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
        self._claims = Batches(self._claim_all, at_most=AT_MOST)
        self._starts = Batches(self._start_all, at_most=AT_MOST)
        self._judgings = Batches(self._judge_all, at_most=AT_MOST)
        self._publications = Batches(self._publish_all, at_most=AT_MOST)

    async def claim(self, job: Job) -> Submission | None:
        """The job's submission with a fresh lease; None if its cycle is over."""
        return await self._claims.do(job)

    async def start_scan(self, submission: Submission, source: Source) -> Started:
        """Say that it is fetched."""
        return await self._starts.do((submission, source))

    async def start_judging(self, submission: Submission, examined: Examined) -> Submission:
        """Keep what the static scan saw, and say that the judge is asked."""
        return await self._judgings.do((submission, examined))

    async def publish(self, submission: Submission, approved: Approved) -> Submission:
        """Put it out, or refuse it because its name or folder is another's."""
        published = await self._publications.do((submission, approved)) if submission.skill_id is None else None
        if published is not None:
            return published
        async with self._store.begin() as db:
            finished = await publish_again(db, submission, approved, self._keys)
            await self._look_again(db, [(finished, approved)], again=True)
            return finished

    async def _claim_all(self, jobs: Sequence[Job]) -> list[Submission | None]:
        wanted = [(job.subject_id, job.cycle) for job in jobs]
        async with self._store.begin() as db:
            if await read_pause(db) is not None:
                raise QueuePaused("The queue is paused.")
            claimed = await claim_submissions(db, wanted, worker=self._worker, lease_seconds=self._lease_seconds)
        return [claimed.get(job.subject_id) for job in jobs]

    async def _start_all(self, wanted: Sequence[tuple[Submission, Source]]) -> list[Started]:
        async with self._store.begin() as db:
            digests = [source.digest for _, source in wanted]
            known = await find_reports(db, digests, 1, self._engine, self._ruleset)
            judged = await find_judgements(db, digests, *self._judge) if self._judge else {}
            listed = [submission.skill_id for submission, _ in wanted if submission.skill_id]
            names = await find_names(db, listed) if listed else {}
            said = await find_said(db, [(submission, source.digest) for submission, source in wanted])
            moved = await move_all(db, [_fetched(submission, source) for submission, source in wanted])
            if len(moved) != len(wanted):
                # Rolls the batch back; alone, only the one that lost its lease will fail.
                raise LostLease("A submission was taken over while it was being fetched.")
        return [
            Started(
                moved[submission.id],
                known.get(source.digest),
                judged.get(source.digest),
                names.get(submission.skill_id) if submission.skill_id else None,
                each,
            )
            for (submission, source), each in zip(wanted, said, strict=True)
        ]

    async def _judge_all(self, wanted: Sequence[tuple[Submission, Examined]]) -> list[Submission]:
        assert self._judge is not None
        async with self._store.begin() as db:
            await save_scans(db, 1, [examined for _, examined in wanted])
            step = Step(State.TIER2_SCANNING, "scanned", {"engine": self._judge[0]})
            moved = await move_all(
                db,
                [
                    Move(submission, (step,), "worker", {"content_digest": examined.report.digest})
                    for submission, examined in wanted
                ],
            )
            if len(moved) != len(wanted):
                raise LostLease("A submission was taken over while it was being scanned.")
        return [moved[submission.id] for submission, _ in wanted]

    async def _publish_all(self, wanted: Sequence[tuple[Submission, Approved]]) -> list[Submission | None]:
        async with self._store.begin() as db:
            finished = await publish_all(db, wanted)
            sources = [(each, approved) for each, (_, approved) in zip(finished, wanted, strict=True) if each]
            await self._look_again(db, sources, again=False)
            return finished

    async def _look_again(
        self, db: AsyncConnection, finished: Sequence[tuple[Submission, Approved]], *, again: bool
    ) -> None:
        """What is published is for the external tools, too: that it waits for them is written with it."""
        sources = [approved.source for each, approved in finished if each.state is State.PUBLISHED]
        await dispatch(db, [(source.digest, source.commit) for source in sources], self._deep_tools, again=again)


def _fetched(submission: Submission, source: Source) -> Move:
    step = Step(State.TIER1_SCANNING, "fetched", {"commit": source.commit})
    return Move(submission, (step,), "worker", {})
