"""The table of contents: what happens to a submission, in order."""

import asyncio
from dataclasses import dataclass

import structlog

from assay.blobs.blobs import Blobs
from assay.certify.certify import certify_source
from assay.certify.keys import SigningKeys
from assay.fetch.flight import SingleFlight
from assay.fetch.source import Fetcher, Resolution
from assay.llm.answer import covers
from assay.llm.judge import Judge
from assay.model.clock import Clock
from assay.model.errors import Invalid, NotFound, RateLimited, ScannerError, Unavailable
from assay.model.finding import Report
from assay.model.job import Job
from assay.model.repository import Repository
from assay.model.source import Source
from assay.model.submission import Reason, Submission
from assay.model.verdict import Decision, Weighed
from assay.moderation.withdraw import take_down_listing
from assay.policy.policy import Policy, judge_report, weigh
from assay.publish.group_commit import Ledger, QueuePaused, Started
from assay.publish.postpone import give_up, retry_or_fail, snooze
from assay.publish.publish import Approved, listed_as
from assay.publish.refuse import reason_of, refuse_skill, refuse_submission
from assay.queue.outcome import Again, Done, Outcome, Paused
from assay.queue.retry import RetryBudget
from assay.runtime.current_task import running
from assay.scan.text.front_matter import describe
from assay.scan_pool.pool import Scanners
from assay.store.database.database import Database
from assay.store.repositories.identity import record_identity
from assay.store.scans.scans import Examined
from assay.store.submissions.transitions import LostLease, renew
from assay.store.versions.status import hold_listing
from assay.submit.admission import Request, accept_submission

log = structlog.get_logger()
# So long a job that another worker took over is left alone; by then that one has ended it, or is gone.
TAKEN_OVER_SECONDS = 30
# The repository is there and the skill is not: the listing would point to nothing.
NO_LONGER_THERE = frozenset({"skill_not_in_source", "source_empty"})


@dataclass(frozen=True)
class Tools:
    """What the pipeline works with."""

    store: Database
    blobs: Blobs
    fetcher: Fetcher
    scanners: Scanners
    policy: Policy
    keys: SigningKeys
    judge: Judge | None
    clock: Clock
    budget: RetryBudget
    identities: SingleFlight[Repository]
    ledger: Ledger
    deadline_seconds: float


async def process(job: Job, tools: Tools) -> Outcome:
    """Take a job's submission as far as it goes, and say what to do with the job."""
    try:
        submission = await tools.ledger.claim(job)
    except QueuePaused:
        return Paused()
    except Unavailable as problem:
        log.warning("A claim has to wait", problem=problem.message)
        return Again(problem.retry_after_seconds)
    if submission is None:
        log.info("A job found nothing to do: its round is over", submission_id=job.subject_id, cycle=job.cycle)
        return Done()
    with running("submission", submission_id=submission.id):
        return await _guarded(submission, tools)


async def assay(submission: Submission, tools: Tools) -> Submission:
    """The story: fetch, scan, judge, then refuse or certify and publish."""
    async with tools.fetcher.fetch(submission) as fetched:
        source = fetched.source
        await _identify(submission, fetched.resolution, tools)
        started = await tools.ledger.start_scan(submission, source)
        report = started.report or await tools.scanners.scan(source)
        submission, weighed = await _weigh(started, source, report, tools)
        # Also what is refused: a reviewer decides about exactly these bytes, wherever their source is by then.
        await tools.blobs.save(source)
        if weighed.verdict.decision is not Decision.APPROVE:
            async with tools.store.begin() as db:
                return await refuse_skill(db, submission, source, weighed)
        name, review = listed_as(submission, started.listed), started.said.approval_of(report)
        certificate = certify_source(name, source, weighed, tools.keys, tools.clock.now(), review)
        description = describe(source.skill_md)
        approved = Approved(name, source, description, weighed, certificate, review)
        return await tools.ledger.publish(submission, approved)


async def _weigh(started: Started, source: Source, report: Report, tools: Tools) -> tuple[Submission, Weighed]:
    """The verdict; if it needs the judge, the judge is asked, unless it has said before what is asked now, or a person
    has decided already. What people have said comes before both.
    """
    said, static = started.said, judge_report(report, tools.policy)
    heard = said.heard(report)
    known = started.judgement if started.judgement and covers(started.judgement, heard) else None
    verdict = static if said.has_decided(report) else weigh(heard, tools.policy, known)
    if verdict is not None:
        alone = verdict if known is None and heard is report else static
        return started.submission, Weighed(report, known, said.overrule(verdict, report), alone)
    assert tools.judge is not None
    submission = await tools.ledger.start_judging(started.submission, Examined(source.manifest, report, static))
    judgement = await tools.judge.judge(source, heard, since=submission.received_at)
    verdict = weigh(heard, tools.policy, judgement)
    assert verdict is not None
    return submission, Weighed(report, judgement, said.overrule(verdict, report), static)


async def _identify(submission: Submission, resolution: Resolution | None, tools: Tools) -> None:
    """Write down what the host says the repository is, once for all its skills; a second name leads to the first."""
    if resolution is None:
        return
    known = submission.repository

    async def write() -> Repository:
        async with tools.store.begin() as db:
            return await record_identity(
                db, known, resolution.facts, commit=resolution.commit, resolved_at=resolution.resolved_at
            )

    canonical = await tools.identities.get((known, resolution.facts, resolution.commit), write)
    if canonical.id != known.id:
        async with tools.store.begin() as db:
            going_on = (await accept_submission(db, _renamed(submission, canonical))).submission
        raise Invalid(
            f"This repository is known here, now as {canonical.name}: see submission {going_on.id}.",
            code="repository_renamed",
        )


def _renamed(submission: Submission, canonical: Repository) -> Request:
    """The same wish for the repository as it is known."""
    return Request(
        canonical.name, submission.skill_name, submission.skill_path, submission.origin, submission.submitter, "worker"
    )


async def _guarded(submission: Submission, tools: Tools) -> Outcome:
    """Every way a run can end becomes a state with a reason; nothing ends in silence."""
    if submission.claims > tools.budget.claims:
        reason = Reason("worker_lost", f"Its worker died {submission.claims - 1} times while working on it.")
        async with tools.store.begin() as db:
            return await give_up(db, submission, reason, attempts=submission.attempts)
    try:
        async with asyncio.timeout(tools.deadline_seconds):
            finished = await assay(submission, tools)
        log.info(f"{finished.state} {finished.repository.name} {finished.skill_name}")
        return Done()
    except LostLease as lost:
        log.info("Left it to the worker that took over", reason=lost.message)
        # Both have the same job. To end it here would take it from the other, who may yet die.
        return Again(TAKEN_OVER_SECONDS)
    except (NotFound, Invalid) as problem:
        log.info(f"Refused {submission.repository.name} {submission.skill_name}: {problem.message}")
        return await _settle(submission, problem, tools)
    except Unavailable as problem:
        log.warning(f"Postponed {submission.repository.name} {submission.skill_name}: {problem.message}")
        return await _settle(submission, problem, tools)
    except TimeoutError:
        log.warning(f"Out of time for {submission.repository.name} {submission.skill_name}")
        slow = Unavailable(f"It took longer than {tools.deadline_seconds:.0f} s.", code="timed_out")
        return await _settle(submission, slow, tools)
    except Exception as bug:
        log.exception("A bug stopped a submission")
        broken = Unavailable(f"Assay failed: {type(bug).__name__}.", code="internal_error")
        return await _settle(submission, broken, tools)


async def _settle(submission: Submission, problem: NotFound | Invalid | Unavailable, tools: Tools) -> Outcome:
    """The one place where an error becomes a state."""
    reason = reason_of(problem)
    try:
        async with tools.store.begin() as db:
            if problem.code in NO_LONGER_THERE:
                await hold_listing(db, submission.skill_id)
            held = await renew(db, submission)
            match problem:
                case RateLimited() | ScannerError():
                    return await snooze(db, held, reason, problem.retry_after_seconds)
                case Unavailable():
                    return await retry_or_fail(db, held, reason, tools.budget)
                case NotFound() | Invalid():
                    await refuse_submission(db, held, reason, trigger="refused")
                    if held.skill_id is not None and problem.code in NO_LONGER_THERE:
                        await take_down_listing(db, held.skill_id, reason, at=tools.clock.now())
                    return Done()
    except LostLease:
        return Again(TAKEN_OVER_SECONDS)
    except Unavailable:
        # The database itself is away; the queue keeps the job until it is back.
        return Again(tools.budget.seconds)
