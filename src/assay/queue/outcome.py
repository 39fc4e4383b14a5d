"""What a handler says when it has finished with a job."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Done:
    """The job is over, whatever became of its subject."""


@dataclass(frozen=True, slots=True)
class Again:
    """The job stays in the queue and is due again after so many seconds."""

    after_seconds: float


@dataclass(frozen=True, slots=True)
class Paused:
    """The queue was paused meanwhile: the job goes back to its place, and nothing more is claimed until it goes on."""


Outcome = Done | Again | Paused
