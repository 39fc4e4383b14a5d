"""What a handler says when it has finished with a job."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Done:
    """The job is over, whatever became of its subject."""


@dataclass(frozen=True, slots=True)
class Again:
    """The job stays in the queue and is due again after so many seconds."""

    after_seconds: float


Outcome = Done | Again
