"""A plain list of repositories: a file of this machine, or an address. One a line; `#` begins a remark."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

from assay.discover.names import candidates_named
from assay.discover.source import Cadence, Checkpoint, Meter, Page
from assay.discover.web import LARGEST_ANSWER_BYTES, Web
from assay.model.errors import Unavailable

PER_PAGE = 500


@dataclass(frozen=True)
class Listed:
    """The list is read anew in every run."""

    web: Web
    cadence: Cadence
    place: str
    web_url: str
    git_hosts: tuple[str, ...] = ()
    name: str = "list"

    async def pages(self, checkpoint: Checkpoint | None, meter: Meter) -> AsyncGenerator[Page, None]:
        """So many lines each."""
        names = names_in(await self._read(meter))
        start = (checkpoint or {}).get("line", 0)
        while True:
            lines: list[object] = [*names[start : start + PER_PAGE]]
            candidates, left_out = candidates_named(lines, self.web_url, self.git_hosts)
            start += PER_PAGE
            is_last = start >= len(names)
            yield Page(candidates, None if is_last else {"line": start}, is_last, left_out)
            if is_last:
                return

    async def probe(self, meter: Meter) -> bool | None:
        """Whether the list can be read and names anything."""
        return bool(names_in(await self._read(meter)))

    async def _read(self, meter: Meter) -> bytes:
        meter.spend()
        if "://" in self.place:
            return await self.web.get_bytes(self.place)
        try:
            return await asyncio.to_thread(_read_file, Path(self.place))
        except OSError as problem:
            raise Unavailable(f"The list {self.place} cannot be read: {problem.strerror}.", code="bad_list") from None


def names_in(raw: bytes) -> list[str]:
    """What each line names."""
    lines = (line.partition("#")[0].split() for line in raw.decode("utf-8", "replace").splitlines())
    return [words[0] for words in lines if words]


def _read_file(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LARGEST_ANSWER_BYTES)
