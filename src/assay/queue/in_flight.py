"""How many jobs a worker is running."""

from dataclasses import dataclass

from assay.model.job import Job
from assay.queue.outcome import Outcome
from assay.queue.worker import Handler


@dataclass
class InFlight:
    """How many jobs are being worked on."""

    number: int = 0

    def counting(self, handle: Handler) -> Handler:
        """The same handler, counted while it runs."""

        async def counted(job: Job) -> Outcome:
            self.number += 1
            try:
                return await handle(job)
            finally:
                self.number -= 1

        return counted
