"""The one admission: every way in ends here, in the caller's transaction."""

from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Conflict
from assay.model.ids import new_id
from assay.model.repository import RepositoryName
from assay.model.submission import REOPENED_BY_RESUBMISSION, Origin, State, Submission
from assay.queue.enqueue import enqueue
from assay.queue.job import Job
from assay.store.repositories import find_or_add_repository
from assay.store.submissions import lock_by_natural_key
from assay.store.transitions import NewSubmission, Step, insert_submissions, reopen


class Admission(StrEnum):
    """What became of a request. Every request becomes exactly one of these."""

    CREATED = "created"
    REOPENED = "reopened"
    DUPLICATE = "duplicate"
    BLOCKED = "blocked"


@dataclass(frozen=True)
class Request:
    """A skill that somebody wants listed, already checked."""

    repository: RepositoryName
    skill_name: str
    skill_path: str
    origin: Origin
    submitter: str | None = None
    upload_digest: str | None = None


@dataclass(frozen=True)
class Accepted:
    """The submission that stands for the request, and how it came to."""

    submission: Submission
    admission: Admission
    was_published: bool


async def accept_submission(db: AsyncConnection, request: Request) -> Accepted:
    """Idempotent on repository, skill name and path: row, job, event and change record commit together."""
    repository = await find_or_add_repository(db, request.repository)
    new = NewSubmission(
        new_id(),
        repository.id,
        request.skill_name,
        request.skill_path,
        request.origin,
        request.submitter,
        request.upload_digest,
    )
    created = await insert_submissions(db, [new], actor=_actor(request))
    if created:
        await enqueue(db, [Job(new.id, created[new.id].cycle)], [new.priority])
        return Accepted(created[new.id], Admission.CREATED, was_published=False)
    existing = await lock_by_natural_key(db, repository.id, request.skill_name, request.skill_path)
    return await _accept_again(db, existing, request)


async def _accept_again(db: AsyncConnection, existing: Submission, request: Request) -> Accepted:
    published = existing.state is State.PUBLISHED
    if existing.state is State.BLOCKED:
        return Accepted(existing, Admission.BLOCKED, was_published=False)
    unchanged = published and request.upload_digest is not None and (request.upload_digest == existing.content_digest)
    if existing.state not in REOPENED_BY_RESUBMISSION and request.upload_digest != existing.upload_digest:
        # A repository is looked at when its turn comes; other bytes of an upload would be lost without a word.
        raise Conflict(
            f"An earlier upload of {existing.skill_name} is still {existing.state}; send this one when it is decided.",
            code="upload_under_way",
        )
    if existing.state not in REOPENED_BY_RESUBMISSION or unchanged:
        return Accepted(existing, Admission.DUPLICATE, was_published=published)
    return Accepted(await _reopen(db, existing, request), Admission.REOPENED, was_published=published)


async def _reopen(db: AsyncConnection, existing: Submission, request: Request) -> Submission:
    """Back to the queue for a new look; what is live stays live meanwhile."""
    again = Step(State.RECEIVED, "submitted again")
    reopened = await reopen(db, existing, again, actor=_actor(request), upload_digest=request.upload_digest)
    await enqueue(db, [Job(reopened.id, reopened.cycle)], [reopened.priority])
    return reopened


def _actor(request: Request) -> str:
    return request.submitter or request.origin.value
