"""The time, as a dependency."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class Clock:
    """Gives the time; tests give their own."""

    read: Callable[[], datetime] = lambda: datetime.now(UTC)

    def now(self) -> datetime:
        """The time now, with its zone."""
        return self.read()
