"""Jobs of the queue."""

from uuid import UUID

import msgspec

ENTRYPOINT = "submission"


class Job(msgspec.Struct, frozen=True):
    """A submission to process in one of its cycles. A job of an earlier cycle does nothing."""

    subject_id: UUID
    cycle: int

    @property
    def key(self) -> str:
        """The dedupe key: at most one job with this key waits or runs."""
        return f"{self.subject_id}:{self.cycle}"

    def encode(self) -> bytes:
        return msgspec.json.encode(self)


def decode_job(payload: bytes) -> Job:
    return msgspec.json.decode(payload, type=Job)
