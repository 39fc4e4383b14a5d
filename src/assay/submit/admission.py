"""Admission of submissions: every way in uses these functions, in the caller's transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Conflict
from assay.model.ids import new_id
from assay.model.job import Job
from assay.model.repository import Repository, RepositoryName
from assay.model.submission import REOPENED_BY_RESUBMISSION, Origin, State, Submission
from assay.store.queue.jobs import CHUNK, enqueue
from assay.store.repositories.repositories import find_or_add_repositories
from assay.store.submissions.submissions import NaturalKey, find_by_natural_key, lock_reopenable
from assay.store.submissions.transitions import NewSubmission, Reopening, insert_submissions, reopen_all


class Admission(StrEnum):
    """The result of a request."""

    CREATED = "created"
    REOPENED = "reopened"
    DUPLICATE = "duplicate"
    BLOCKED = "blocked"


@dataclass(frozen=True)
class SubmissionRequest:
    """A validated request to list a skill. `actor` is the name shown in the history."""

    repository: RepositoryName
    skill_name: str
    skill_path: str
    origin: Origin
    submitter: str | None = None
    actor: str | None = None
    upload_digest: str | None = None
    # The owner or an administrator chose the name, so it need not match the fetched skill.
    is_name_chosen: bool = False


@dataclass(frozen=True)
class Admitted:
    """The submission of a request, and the result of its admission."""

    submission: Submission
    admission: Admission
    was_published: bool


async def admit_submission(db: AsyncConnection, request: SubmissionRequest, *, share: str | None = None) -> Admitted:
    """Admit one request. Raises Conflict if another upload of the skill is being processed."""
    [admitted] = await admit_submissions(db, [request], share=share)
    if isinstance(admitted, Conflict):
        raise admitted
    return admitted


async def admit_submissions(
    db: AsyncConnection,
    requests: Sequence[SubmissionRequest],
    *,
    batch: UUID | None = None,
    may_reopen: bool = True,
    chunk: int = CHUNK,
    share: str | None = None,
) -> list[Admitted | Conflict]:
    """Create or reopen submissions; idempotent on repository, skill name and path.

    Row, job, event and change record commit together, in a constant number of statements. The results are in the order
    of the requests. The caller named by `share` takes turns in the queue with the others; by default, the submitter or
    the origin of the first request.
    """
    repositories = await find_or_add_repositories(db, [request.repository for request in requests])
    known = {repository.id: repository for repository in repositories.values()}
    keys = [_natural_key(repositories[request.repository.key], request) for request in requests]
    created = await _create(db, keys, requests, known, batch)
    existing = await find_by_natural_key(db, sorted(set(keys) - set(created)))
    if may_reopen:
        existing |= await lock_reopenable(db, [each.id for each in existing.values() if _may_reopen(each)])
    admitted, reopenings = _decide(keys, requests, created, existing, may_reopen=may_reopen)
    reopened = await reopen_all(db, reopenings)
    fresh = [*created.values(), *reopened.values()]
    jobs, priorities = [Job(each.id, each.cycle) for each in fresh], [each.priority for each in fresh]
    # Last, because it locks the share of the caller.
    await enqueue(db, jobs, priorities, chunk, share=share or (_share_of(requests[0]) if requests else None))
    return [_with_reopened(each, reopened) for each in admitted]


def _share_of(request: SubmissionRequest) -> str:
    return f"account {request.submitter}" if request.submitter else f"origin {request.origin}"


def _natural_key(repository: Repository, request: SubmissionRequest) -> NaturalKey:
    return repository.id, request.skill_name, request.skill_path


async def _create(
    db: AsyncConnection,
    keys: Sequence[NaturalKey],
    requests: Sequence[SubmissionRequest],
    repositories: Mapping[int, Repository],
    batch: UUID | None,
) -> dict[NaturalKey, Submission]:
    """Insert missing submissions, in key order so that concurrent transactions cannot deadlock."""
    first = dict(reversed(list(zip(keys, requests, strict=True))))
    news = [
        NewSubmission(
            id=new_id(),
            repository=repositories[key[0]],
            skill_name=key[1],
            skill_path=key[2],
            origin=request.origin,
            submitter=request.submitter,
            upload_digest=request.upload_digest,
            actor=_actor(request),
            is_name_chosen=request.is_name_chosen,
        )
        for key, request in sorted(first.items(), key=lambda item: item[0])
    ]
    created = await insert_submissions(db, news, batch=batch)
    return {_key_of(submission): submission for submission in created.values()}


def _key_of(submission: Submission) -> NaturalKey:
    return submission.repository.id, submission.skill_name, submission.skill_path


def _decide(
    keys: Sequence[NaturalKey],
    requests: Sequence[SubmissionRequest],
    created: dict[NaturalKey, Submission],
    existing: dict[NaturalKey, Submission],
    *,
    may_reopen: bool,
) -> tuple[list[Admitted | Conflict], list[Reopening]]:
    """Decide about each request. Of several for one skill, the first counts and the others are duplicates."""
    admitted: list[Admitted | Conflict] = []
    reopenings: list[Reopening] = []
    seen: set[NaturalKey] = set()
    for key, request in zip(keys, requests, strict=True):
        if key in created:
            admission = Admission.DUPLICATE if key in seen else Admission.CREATED
            decision: Admitted | Conflict = Admitted(created[key], admission, was_published=False)
        else:
            decision = _decide_again(existing[key], request, may_reopen=may_reopen and key not in seen)
        if isinstance(decision, Admitted) and decision.admission is Admission.REOPENED:
            reopening = Reopening(
                decision.submission, request.upload_digest, _actor(request), is_name_chosen=request.is_name_chosen
            )
            reopenings.append(reopening)
        admitted.append(decision)
        seen.add(key)
    return admitted, reopenings


def _decide_again(existing: Submission, request: SubmissionRequest, *, may_reopen: bool) -> Admitted | Conflict:
    published = existing.state is State.PUBLISHED
    if existing.state is State.BLOCKED:
        return Admitted(existing, Admission.BLOCKED, was_published=False)
    unchanged = published and request.upload_digest is not None and (request.upload_digest == existing.content_digest)
    if not _may_reopen(existing) and request.upload_digest != existing.upload_digest:
        # A repository is fetched when its job runs, but different uploaded files would be lost.
        return Conflict(
            f"An earlier upload of {existing.skill_name} is still {existing.state}. "
            "Upload this one when the earlier one is decided.",
            code="upload_under_way",
        )
    if not _may_reopen(existing) or unchanged or not may_reopen:
        return Admitted(existing, Admission.DUPLICATE, was_published=published)
    return Admitted(existing, Admission.REOPENED, was_published=published)


def _with_reopened(decision: Admitted | Conflict, reopened: dict[UUID, Submission]) -> Admitted | Conflict:
    if isinstance(decision, Admitted) and decision.submission.id in reopened:
        return Admitted(reopened[decision.submission.id], decision.admission, decision.was_published)
    return decision


def _may_reopen(existing: Submission) -> bool:
    return existing.state in REOPENED_BY_RESUBMISSION


def _actor(request: SubmissionRequest) -> str:
    return request.actor or request.origin.value
