"""Many skills at once: what can be admitted is, the rest says why not, and neither stops the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import AssayError, Invalid
from assay.model.ids import new_id
from assay.store.queue.enqueue import CHUNK
from assay.store.submissions.batches import announce_batch
from assay.submit.admission import Accepted, Admission, Request, accept_submissions

MOST_ITEMS = 1_000
Item = Request | Invalid
Result = Accepted | AssayError


@dataclass(frozen=True)
class Batch:
    """What became of each item, in the order they were given."""

    id: UUID
    results: tuple[Result, ...]

    def count(self, admission: Admission) -> int:
        """How many items ended so."""
        return sum(isinstance(each, Accepted) and each.admission is admission for each in self.results)

    @property
    def errors(self) -> list[tuple[int, AssayError]]:
        """What could not be admitted: the item's place, and why."""
        return [(index, each) for index, each in enumerate(self.results) if isinstance(each, AssayError)]


async def accept_batch(
    db: AsyncConnection, items: Sequence[Item], *, may_reopen: bool = True, chunk: int = CHUNK
) -> Batch:
    """One admission for all; one announcement instead of one for each that is new."""
    batch = new_id()
    requests = [item for item in items if isinstance(item, Request)]
    admitted = await accept_submissions(db, requests, batch=batch, may_reopen=may_reopen, chunk=chunk)
    answers = iter(admitted)
    done = Batch(batch, tuple(next(answers) if isinstance(item, Request) else item for item in items))
    created = done.count(Admission.CREATED)
    if created:
        sender = requests[0]
        about = {"actor": sender.actor, "source": sender.origin.value, "submitter": sender.submitter}
        await announce_batch(db, batch, created, about)
    return done
