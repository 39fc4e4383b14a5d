"""The pipeline of a submission: fetch, scan, judge, then refuse or publish."""

import asyncio
from dataclasses import dataclass

import structlog

from assay.accounts.permissions import has_chosen_name
from assay.blobs.blobs import Blobs
from assay.certify.certify import certify_source
from assay.certify.keys import SigningKeys
from assay.fetch.single_flight import SingleFlight
from assay.fetch.source import Fetcher, Resolution
from assay.llm.answer import judgement_covers
from assay.llm.judge import Judge
from assay.model.clock import Clock
from assay.model.errors import Invalid, NotFound, RateLimited, ScannerError, Unavailable
from assay.model.finding import Report
from assay.model.job import Job
from assay.model.repository import Host, Repository
from assay.model.skill_names import is_natural_name
from assay.model.source import Source
from assay.model.submission import Reason, Submission
from assay.model.verdict import Assessment, Decision
from assay.moderation.withdraw import tombstone_by_id
from assay.policy.policy import Policy, decide_verdict, static_verdict
from assay.publish.group_commit import GroupCommit, QueuePaused, Started
from assay.publish.postpone import give_up, retry_or_fail, snooze
from assay.publish.publish import Approved, listing_name_for
from assay.publish.refuse import reason_from_error, refuse_skill, refuse_submission
from assay.queue.outcome import Done, Outcome, Paused, Retry, RetryPolicy
from assay.runtime.current_task import task_scope
from assay.scan.text.front_matter import describe
from assay.scan_pool.pool import ScanPool
from assay.store.database.database import Database
from assay.store.repositories.identity import record_identity
from assay.store.scans.scans import ScannedContent
from assay.store.skills.locks import lock_listing_by_id
from assay.store.submissions.transitions import LostLease, renew
from assay.submit.admission import SubmissionRequest, admit_submission

log = structlog.get_logger()
# Delay before a job is retried whose submission another worker took over; that worker has finished or died by then.
TAKEOVER_RETRY_SECONDS = 30
# The repository exists, but the skill is no longer in it: the listing is tombstoned.
SKILL_REMOVED_CODES = frozenset({"skill_not_in_source", "source_empty"})


@dataclass(frozen=True)
class PipelineDependencies:
    store: Database
    blobs: Blobs
    fetcher: Fetcher
    scanners: ScanPool
    policy: Policy
    keys: SigningKeys
    judge: Judge | None
    clock: Clock
    retry_policy: RetryPolicy
    identities: SingleFlight[Repository]
    group_commit: GroupCommit
    deadline_seconds: float


async def process(job: Job, deps: PipelineDependencies) -> Outcome:
    """Claim the submission of a job, run the pipeline, and return the outcome for the queue."""
    try:
        submission = await deps.group_commit.claim(job)
    except QueuePaused:
        return Paused()
    except Unavailable as error:
        log.warning("Failed to claim a submission", submission_id=job.subject_id, error=error.message)
        return Retry(error.retry_after_seconds)
    if submission is None:
        log.info("Skipped a job whose cycle is over", submission_id=job.subject_id, cycle=job.cycle)
        return Done()
    with task_scope("submission", submission_id=submission.id):
        return await _run_to_outcome(submission, deps)


async def run_pipeline(submission: Submission, deps: PipelineDependencies) -> Submission:
    """Fetch, scan and judge a submission, then refuse it or certify and publish it."""
    async with deps.fetcher.fetch(submission) as fetched:
        source = fetched.source
        await _record_identity(submission, fetched.resolution, deps)
        is_name_chosen = await _check_name(submission, source, deps)
        started = await deps.group_commit.start_scan(submission, source)
        report = started.report or await deps.scanners.scan(source)
        submission, assessment = await _assess(started, source, report, deps)
        # Refused content is stored, too: a reviewer decides about exactly these files, even if the source changes.
        await deps.blobs.save(source)
        if assessment.verdict.decision is not Decision.APPROVE:
            async with deps.store.begin() as db:
                return await refuse_skill(db, submission, source, assessment)
        name = listing_name_for(submission, started.listed_name)
        review = started.decisions.approval_of(report)
        certificate = certify_source(name, source, assessment, deps.keys, deps.clock.now(), review)
        description = describe(source.skill_md)
        approved = Approved(name, source, description, assessment, certificate, review, is_name_chosen)
        return await deps.group_commit.publish(submission, approved)


async def _assess(
    started: Started, source: Source, report: Report, deps: PipelineDependencies
) -> tuple[Submission, Assessment]:
    """Decide the verdict. Call the judge only if the policy needs it, no stored judgement covers the report, and no
    review decides; human decisions override the result.
    """
    decisions, static = started.decisions, static_verdict(report, deps.policy)
    counted = decisions.without_suppressed(report)
    known = started.judgement if started.judgement and judgement_covers(started.judgement, counted) else None
    verdict = static if decisions.has_decided(report) else decide_verdict(counted, deps.policy, known)
    if verdict is not None:
        by_static_scan = verdict if known is None and counted is report else static
        return started.submission, Assessment(report, known, decisions.apply_to(verdict, report), by_static_scan)
    assert deps.judge is not None
    scanned = ScannedContent(source.manifest, report, static)
    submission = await deps.group_commit.start_judging(started.submission, scanned)
    judgement = await deps.judge.judge(source, counted, since=submission.received_at)
    verdict = decide_verdict(counted, deps.policy, judgement)
    assert verdict is not None
    return submission, Assessment(report, judgement, decisions.apply_to(verdict, report), static)


async def _record_identity(submission: Submission, resolution: Resolution | None, deps: PipelineDependencies) -> None:
    """Store the repository's identity at its host, once for all its skills. If the repository is already known under
    another name, admit the skill there and raise Invalid.
    """
    if resolution is None:
        return
    known = submission.repository

    async def write() -> Repository:
        async with deps.store.begin() as db:
            return await record_identity(
                db, known, resolution.facts, commit=resolution.commit, resolved_at=resolution.resolved_at
            )

    canonical = await deps.identities.get((known, resolution.facts, resolution.commit), write)
    if canonical.id != known.id:
        request = SubmissionRequest(
            canonical.name,
            submission.skill_name,
            submission.skill_path,
            submission.origin,
            submission.submitter,
            "worker",
            is_name_chosen=submission.is_name_chosen,
        )
        async with deps.store.begin() as db:
            successor = (await admit_submission(db, request)).submission
        raise Invalid(
            f"This repository is already known as {canonical.name}; submission {successor.id} replaces this one.",
            code="repository_renamed",
        )


async def _check_name(submission: Submission, source: Source, deps: PipelineDependencies) -> bool:
    """Return whether the owner or an administrator chose the name. Raises Invalid if someone else did, and neither the
    folder nor the front matter has it; a skill that is already listed under the name keeps it.
    """
    repository = submission.repository.name
    if submission.is_name_chosen or submission.submitter is not None or repository.host is Host.UPLOAD:
        async with deps.store.begin() as db:
            if await has_chosen_name(db, submission):
                return True
    declared = describe(source.skill_md).name
    if submission.skill_id is None and not is_natural_name(
        submission.skill_name, repository, submission.skill_path, declared
    ):
        raise Invalid(
            f"{submission.skill_path} is not named {submission.skill_name!r}. Only the owner of {repository} may "
            "choose a name that neither the folder nor the front matter has.",
            code="name_mismatch",
        )
    return False


async def _run_to_outcome(submission: Submission, deps: PipelineDependencies) -> Outcome:
    """Run the pipeline; every error becomes a state with a reason."""
    if submission.claims > deps.retry_policy.claims:
        died = submission.claims - 1
        reason = Reason("worker_lost", f"The worker that processed this submission died {died} times.")
        async with deps.store.begin() as db:
            return await give_up(db, submission, reason, attempts=submission.attempts)
    about = {"repository": str(submission.repository.name), "skill": submission.skill_name}
    try:
        async with asyncio.timeout(deps.deadline_seconds):
            finished = await run_pipeline(submission, deps)
        log.info("Finished a submission", state=finished.state.value, **about)
        return Done()
    except LostLease as lost:
        log.info("Left a submission to the worker that took it over", error=lost.message, **about)
        # Both workers share one job: ending it here would take it from the other one, which may still die.
        return Retry(TAKEOVER_RETRY_SECONDS)
    except (NotFound, Invalid) as error:
        log.info("Refused a submission", error=error.message, **about)
        return await _record_error(submission, error, deps)
    except Unavailable as error:
        log.warning("Postponed a submission", error=error.message, **about)
        return await _record_error(submission, error, deps)
    except TimeoutError:
        log.warning("Processing of a submission timed out", seconds=deps.deadline_seconds, **about)
        slow = Unavailable(f"Processing took longer than {deps.deadline_seconds:.0f} s.", code="timed_out")
        return await _record_error(submission, slow, deps)
    except Exception as bug:
        log.exception("Unexpected error while processing a submission", **about)
        broken = Unavailable(f"An internal error occurred: {type(bug).__name__}.", code="internal_error")
        return await _record_error(submission, broken, deps)


async def _record_error(
    submission: Submission, error: NotFound | Invalid | Unavailable, deps: PipelineDependencies
) -> Outcome:
    """Turn an error into a state: the only place that does."""
    reason = reason_from_error(error)
    try:
        async with deps.store.begin() as db:
            if error.code in SKILL_REMOVED_CODES:
                await lock_listing_by_id(db, submission.skill_id)
            leased = await renew(db, submission)
            match error:
                case RateLimited() | ScannerError():
                    return await snooze(db, leased, reason, error.retry_after_seconds)
                case Unavailable():
                    return await retry_or_fail(db, leased, reason, deps.retry_policy)
                case NotFound() | Invalid():
                    await refuse_submission(db, leased, reason, trigger="refused")
                    if leased.skill_id is not None and error.code in SKILL_REMOVED_CODES:
                        await tombstone_by_id(db, leased.skill_id, reason, at=deps.clock.now())
                    return Done()
    except LostLease:
        return Retry(TAKEOVER_RETRY_SECONDS)
    except Unavailable:
        # The database is down; the queue keeps the job.
        return Retry(deps.retry_policy.seconds)
