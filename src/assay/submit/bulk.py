"""Admission of many skills in one batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import AssayError, Invalid
from assay.model.ids import new_id
from assay.model.repository import Host
from assay.model.skill import Skill, slug_in
from assay.model.submission import Origin
from assay.store.feed.changes import record_batch
from assay.store.queue.jobs import CHUNK
from assay.submit.admission import Admission, Admitted, SubmissionRequest, admit_submissions

MAX_BATCH_ITEMS = 1_000
Item = SubmissionRequest | Invalid
Result = Admitted | AssayError


@dataclass(frozen=True)
class Batch:
    """The results of a batch, in the order of its items."""

    id: UUID
    results: tuple[Result, ...]

    def count(self, admission: Admission) -> int:
        return sum(isinstance(each, Admitted) and each.admission is admission for each in self.results)

    @property
    def errors(self) -> list[tuple[int, AssayError]]:
        """The index and error of each item that was not admitted."""
        return [(index, each) for index, each in enumerate(self.results) if isinstance(each, AssayError)]


async def admit_batch(
    db: AsyncConnection,
    items: Sequence[Item],
    *,
    may_reopen: bool = True,
    chunk: int = CHUNK,
    share: str | None = None,
) -> Batch:
    """Admit all valid items at once, with one change record for the new submissions instead of one each."""
    batch = new_id()
    requests = [item for item in items if isinstance(item, SubmissionRequest)]
    admitted = await admit_submissions(db, requests, batch=batch, may_reopen=may_reopen, chunk=chunk, share=share)
    answers = iter(admitted)
    done = Batch(batch, tuple(next(answers) if isinstance(item, SubmissionRequest) else item for item in items))
    created = done.count(Admission.CREATED)
    if created:
        sender = requests[0]
        about = {"actor": sender.actor, "source": sender.origin.value, "submitter": sender.submitter}
        await record_batch(db, batch, created, about)
    return done


async def submit_missing_listings(db: AsyncConnection, lost: Sequence[Skill], *, by: str) -> int:
    """Submit listings that another copy knows and the tables do not; return the number of new submissions.

    Uploads are skipped: their source cannot be fetched again.
    """
    requests = [
        SubmissionRequest(
            each.repository, slug_in(each.name), each.skill_path, Origin.BULK, actor=by, is_name_chosen=True
        )
        for each in lost
        if each.repository.host is not Host.UPLOAD
    ]
    count = 0
    for start in range(0, len(requests), MAX_BATCH_ITEMS):
        # A share of its own: it stays locked until the last batch is admitted.
        chosen = requests[start : start + MAX_BATCH_ITEMS]
        batch = await admit_batch(db, chosen, may_reopen=False, share="missing listings")
        count += batch.count(Admission.CREATED)
    return count
