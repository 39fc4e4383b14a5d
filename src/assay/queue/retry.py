"""How often and how long: retries are few, spaced, and then they end."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryBudget:
    """Three retries, the n-th after n times `seconds`; a job whose workers keep dying ends too."""

    retries: int = 3
    seconds: float = 30
    claims: int = 12

    def delay(self, attempts: int) -> float | None:
        """Seconds until the next attempt after `attempts` failed ones; None when the budget is spent."""
        return None if attempts > self.retries else self.seconds * attempts
