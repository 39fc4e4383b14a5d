"""Repositories that somebody has named: a source that is read once."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from assay.discover.source import Cadence, Checkpoint, Meter, Page
from assay.model.discovery import Candidate


@dataclass(frozen=True)
class Given:
    """All of them are one page."""

    candidates: Sequence[Candidate]
    name: str
    cadence: Cadence = field(default_factory=Cadence)

    async def pages(self, _checkpoint: Checkpoint | None, _meter: Meter) -> AsyncGenerator[Page, None]:
        """The one page."""
        yield Page(self.candidates, None, is_last=True)

    async def probe(self, _meter: Meter) -> bool | None:
        """There is nothing to ask."""
        return None
