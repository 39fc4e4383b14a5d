"""A job: the id of something to work on, and the round it belongs to."""

from uuid import UUID

import msgspec

ENTRYPOINT = "submission"


class Job(msgspec.Struct, frozen=True):
    """Jobs carry ids, never contents. A job of an earlier cycle finds nothing to do."""

    subject_id: UUID
    cycle: int

    @property
    def key(self) -> str:
        """Under which the job is found while it waits or runs; there is never a second one."""
        return f"{self.subject_id}:{self.cycle}"

    def encode(self) -> bytes:
        """The payload that the queue keeps."""
        return msgspec.json.encode(self)


def decode_job(payload: bytes) -> Job:
    """A job from its payload."""
    return msgspec.json.decode(payload, type=Job)
