"""Discovery under test: a crawler of a registry, and what stands afterwards."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import text

from assay.app.discovery import open_crawler
from assay.discover.crawl import Asked, Crawler
from assay.discover.source import Cadence, Checkpoint, Meter, Page
from assay.model.discovery import Candidate
from assay.model.errors import AssayError
from assay.model.repository import Host, RepositoryName
from assay.store.discovery.runs import RunRecord
from tests.support.registry import Registry
from tests.support.skills import a_repository


def a_name(full_name: str) -> RepositoryName:
    owner, _, name = full_name.partition("/")
    return RepositoryName(Host.GITHUB, owner, name)


def many(registry: Registry, number: int, *skills: str, prefix: str = "acme") -> list[str]:
    """So many repositories with these skills each."""
    names = [f"{prefix}/repo-{each}" for each in range(number)]
    for name in names:
        registry.github.add_repository(name, files=a_repository(*(skills or ("one", "two"))))
    return names


@dataclass
class Scripted:
    """A source that says what it is told to: names, or an error, page by page."""

    script: Sequence[Sequence[str] | AssayError]
    name: str = "scripted"
    cadence: Cadence = field(default_factory=Cadence)
    sees: bool | None = None
    asked_from: list[int] = field(default_factory=list)

    async def pages(self, checkpoint: Checkpoint | None, meter: Meter) -> AsyncGenerator[Page, None]:
        start = (checkpoint or {}).get("at", 0)
        for at in range(start, len(self.script)):
            meter.spend()
            self.asked_from.append(at)
            told = self.script[at]
            if isinstance(told, AssayError):
                self.script = [*self.script[:at], [], *self.script[at + 1 :]]
                raise told
            is_last = at == len(self.script) - 1
            candidates = [Candidate(a_name(each)) for each in told]
            yield Page(candidates, None if is_last else {"at": at + 1}, is_last)

    async def probe(self, meter: Meter) -> bool | None:
        return self.sees


class Always(Scripted):
    """A source that fails, whatever is asked."""

    def __init__(self, problem: Exception) -> None:
        super().__init__([[]])
        self.problem = problem

    async def pages(self, checkpoint: Checkpoint | None, meter: Meter) -> AsyncGenerator[Page, None]:
        raise self.problem
        yield


@asynccontextmanager
async def a_crawler(registry: Registry) -> AsyncIterator[Crawler]:
    async with open_crawler(registry.app) as crawler:
        yield crawler


async def crawl(registry: Registry, source: Any, **asked: Any) -> RunRecord:
    """One run that is asked for."""
    async with a_crawler(registry) as crawler:
        ended = await crawler.run(source, Asked("test", **{"is_asked_for": True, **asked}))
    assert ended is not None
    return ended


async def submitted(registry: Registry) -> list[tuple[str, str]]:
    """Every submission as `(owner/name, path)`, as often as it is there."""
    statement = (
        "SELECT r.owner || '/' || r.name, s.skill_path FROM submission s JOIN repository r ON r.id = s.repository_id"
    )
    async with registry.app.store.begin() as db:
        return sorted((row[0], row[1]) for row in await db.execute(text(statement)))


async def records(registry: Registry) -> dict[str, str]:
    """What became of each repository that was found."""
    async with registry.app.store.begin() as db:
        rows = await db.execute(text("SELECT full_name, state FROM discovery_record"))
        return {row[0]: row[1] for row in rows}


async def count(registry: Registry, table: str) -> int:
    async with registry.app.store.begin() as db:
        return (await db.execute(text(f"SELECT count(*) FROM {table}"))).scalar_one()


def expected(names: Sequence[str], *skills: str) -> list[tuple[str, str]]:
    """What should be submitted of these repositories."""
    return sorted((name, f"skills/{skill}/SKILL.md") for name in names for skill in (skills or ("one", "two")))
