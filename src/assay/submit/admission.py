"""The one admission: every way in ends here, in the caller's transaction, as a set of one or of a thousand."""

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
from assay.store.queue.enqueue import CHUNK, enqueue
from assay.store.repositories.repositories import find_or_add_repositories
from assay.store.submissions.lookup import NaturalKey, find_standing, lock_standing
from assay.store.submissions.transitions import NewSubmission, Reopening, insert_submissions, reopen_all


class Admission(StrEnum):
    """What became of a request. Every request becomes exactly one of these."""

    CREATED = "created"
    REOPENED = "reopened"
    DUPLICATE = "duplicate"
    BLOCKED = "blocked"


@dataclass(frozen=True)
class Request:
    """A skill that somebody wants listed, already checked. `actor` is who, in words for the history."""

    repository: RepositoryName
    skill_name: str
    skill_path: str
    origin: Origin
    submitter: str | None = None
    actor: str | None = None
    upload_digest: str | None = None


@dataclass(frozen=True)
class Accepted:
    """The submission that stands for the request, and how it came to."""

    submission: Submission
    admission: Admission
    was_published: bool


async def accept_submission(db: AsyncConnection, request: Request) -> Accepted:
    """Admit one. Raises Conflict if it is other bytes than those that are being examined."""
    [accepted] = await accept_submissions(db, [request])
    if isinstance(accepted, Conflict):
        raise accepted
    return accepted


async def accept_submissions(
    db: AsyncConnection,
    requests: Sequence[Request],
    *,
    batch: UUID | None = None,
    may_reopen: bool = True,
    chunk: int = CHUNK,
) -> list[Accepted | Conflict]:
    """Idempotent on repository, skill name and path: row, job, event and change record commit together.

    The answers are in the order of the requests. What is new is one statement for all; so is what is reopened.
    """
    repositories = await find_or_add_repositories(db, [request.repository for request in requests])
    known = {repository.id: repository for repository in repositories.values()}
    keys = [_natural_key(repositories[request.repository.key], request) for request in requests]
    created = await _create(db, keys, requests, known, batch)
    standing = await find_standing(db, sorted(set(keys) - set(created)))
    if may_reopen:
        standing |= await lock_standing(db, [each.id for each in standing.values() if _may_reopen(each)])
    accepted, reopenings = _decide(keys, requests, created, standing, may_reopen=may_reopen)
    reopened = await reopen_all(db, reopenings)
    fresh = [*created.values(), *reopened.values()]
    await enqueue(db, [Job(each.id, each.cycle) for each in fresh], [each.priority for each in fresh], chunk)
    return [_as_reopened(each, reopened) for each in accepted]


def _natural_key(repository: Repository, request: Request) -> NaturalKey:
    return repository.id, request.skill_name, request.skill_path


async def _create(
    db: AsyncConnection,
    keys: Sequence[NaturalKey],
    requests: Sequence[Request],
    repositories: Mapping[int, Repository],
    batch: UUID | None,
) -> dict[NaturalKey, Submission]:
    """The rows that were not there. Always in the same order, so that two that insert the same cannot deadlock."""
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
        )
        for key, request in sorted(first.items(), key=lambda item: item[0])
    ]
    created = await insert_submissions(db, news, batch=batch)
    return {_key_of(submission): submission for submission in created.values()}


def _key_of(submission: Submission) -> NaturalKey:
    return submission.repository.id, submission.skill_name, submission.skill_path


def _decide(
    keys: Sequence[NaturalKey],
    requests: Sequence[Request],
    created: dict[NaturalKey, Submission],
    standing: dict[NaturalKey, Submission],
    *,
    may_reopen: bool,
) -> tuple[list[Accepted | Conflict], list[Reopening]]:
    """What becomes of each request. Of several for the same skill the first counts, the others are its duplicates."""
    accepted: list[Accepted | Conflict] = []
    reopenings: list[Reopening] = []
    seen: set[NaturalKey] = set()
    for key, request in zip(keys, requests, strict=True):
        if key in created:
            admission = Admission.DUPLICATE if key in seen else Admission.CREATED
            decision: Accepted | Conflict = Accepted(created[key], admission, was_published=False)
        else:
            decision = _decide_again(standing[key], request, may_reopen=may_reopen and key not in seen)
        if isinstance(decision, Accepted) and decision.admission is Admission.REOPENED:
            reopenings.append(Reopening(decision.submission, request.upload_digest, _actor(request)))
        accepted.append(decision)
        seen.add(key)
    return accepted, reopenings


def _decide_again(existing: Submission, request: Request, *, may_reopen: bool) -> Accepted | Conflict:
    published = existing.state is State.PUBLISHED
    if existing.state is State.BLOCKED:
        return Accepted(existing, Admission.BLOCKED, was_published=False)
    unchanged = published and request.upload_digest is not None and (request.upload_digest == existing.content_digest)
    if not _may_reopen(existing) and request.upload_digest != existing.upload_digest:
        # A repository is looked at when its turn comes; other bytes of an upload would be lost without a word.
        return Conflict(
            f"An earlier upload of {existing.skill_name} is still {existing.state}; send this one when it is decided.",
            code="upload_under_way",
        )
    if not _may_reopen(existing) or unchanged or not may_reopen:
        return Accepted(existing, Admission.DUPLICATE, was_published=published)
    return Accepted(existing, Admission.REOPENED, was_published=published)


def _as_reopened(decision: Accepted | Conflict, reopened: dict[UUID, Submission]) -> Accepted | Conflict:
    if isinstance(decision, Accepted) and decision.submission.id in reopened:
        return Accepted(reopened[decision.submission.id], decision.admission, decision.was_published)
    return decision


def _may_reopen(existing: Submission) -> bool:
    return existing.state in REOPENED_BY_RESUBMISSION


def _actor(request: Request) -> str:
    return request.actor or request.origin.value
