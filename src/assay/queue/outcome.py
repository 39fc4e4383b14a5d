"""Outcomes of a job, and the retry policy."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Done:
    """The job is finished, whatever the result."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The job stays in the queue and is due again after `after_seconds`."""

    after_seconds: float


@dataclass(frozen=True, slots=True)
class Paused:
    """The queue was paused meanwhile: the job returns to its position, and the worker stops claiming."""


Outcome = Done | Retry | Paused


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Retries after linearly growing delays, and a limit on claims for jobs whose workers keep dying."""

    retries: int = 3
    seconds: float = 30
    claims: int = 12

    def delay(self, attempts: int) -> float | None:
        """Return the seconds until the next attempt, or None if no retries are left."""
        return None if attempts > self.retries else self.seconds * attempts
