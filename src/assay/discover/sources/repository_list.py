"""Source `list`: a text file or URL with one repository per line; `#` starts a comment."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

from assay.discover.repository_names import parse_candidates
from assay.discover.source import Cadence, CandidatePage, Checkpoint, RunCallBudget
from assay.discover.web import LARGEST_RESPONSE_BYTES, Web
from assay.model.errors import Unavailable

PER_PAGE = 500


@dataclass(frozen=True)
class RepositoryList:
    """Reads the whole list in every run."""

    web: Web
    cadence: Cadence
    location: str
    web_url: str
    git_hosts: tuple[str, ...] = ()
    name: str = "list"

    async def pages(self, checkpoint: Checkpoint | None, budget: RunCallBudget) -> AsyncGenerator[CandidatePage, None]:
        names = names_in(await self._read(budget))
        start = (checkpoint or {}).get("line", 0)
        while True:
            lines: list[object] = [*names[start : start + PER_PAGE]]
            candidates, left_out = parse_candidates(lines, self.web_url, self.git_hosts)
            start += PER_PAGE
            is_last = start >= len(names)
            yield CandidatePage(candidates, None if is_last else {"line": start}, is_last, left_out)
            if is_last:
                return

    async def probe(self, budget: RunCallBudget) -> bool | None:
        """Return whether the list names any repository; raise Unavailable if it cannot be read."""
        return bool(names_in(await self._read(budget)))

    async def _read(self, budget: RunCallBudget) -> bytes:
        budget.spend()
        if "://" in self.location:
            return await self.web.get_bytes(self.location)
        try:
            return await asyncio.to_thread(_read_file, Path(self.location))
        except OSError as error:
            raise Unavailable(f"The list {self.location} cannot be read: {error.strerror}.", code="bad_list") from None


def names_in(raw: bytes) -> list[str]:
    """Return the first word of each line, without comments."""
    lines = (line.partition("#")[0].split() for line in raw.decode("utf-8", "replace").splitlines())
    return [words[0] for words in lines if words]


def _read_file(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LARGEST_RESPONSE_BYTES)
