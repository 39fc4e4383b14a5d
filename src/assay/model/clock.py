"""The clock as an injected dependency."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class Clock:
    """The source of the current time; tests pass their own."""

    read: Callable[[], datetime] = lambda: datetime.now(UTC)

    def now(self) -> datetime:
        """Return the current time with its time zone."""
        return self.read()
