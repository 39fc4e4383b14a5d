"""A source for repositories that a request names; it is read once."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from assay.discover.source import Cadence, CandidatePage, Checkpoint, RunCallBudget
from assay.model.discovery import Candidate


@dataclass(frozen=True)
class NamedRepositories:
    """Yields all candidates as one page."""

    candidates: Sequence[Candidate]
    name: str
    cadence: Cadence = field(default_factory=Cadence)

    async def pages(
        self, _checkpoint: Checkpoint | None, _budget: RunCallBudget
    ) -> AsyncGenerator[CandidatePage, None]:
        yield CandidatePage(self.candidates, None, is_last=True)

    async def probe(self, _budget: RunCallBudget) -> bool | None:
        return None
