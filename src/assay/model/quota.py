"""The rest of a rate limit."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Quota:
    """A limit, how many actions it still allows, and when its window ends."""

    limit: int
    remaining: int
    resets_at: datetime

    @property
    def used_part(self) -> float:
        return 1 - self.remaining / self.limit
