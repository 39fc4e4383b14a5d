"""Helpers for discovery: scripted sources, runs, and what they stored."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import text

from assay.app.discovery import open_crawler
from assay.discover.crawl import Crawler, RunRequest
from assay.discover.source import Cadence, CandidatePage, Checkpoint, RunCallBudget
from assay.model.discovery import Candidate
from assay.model.errors import AssayError
from assay.model.repository import Host, RepositoryName
from assay.store.discovery.runs import RunRecord
from tests.support.registry import Registry
from tests.support.skills import a_repository


def repository_name(full_name: str) -> RepositoryName:
    owner, _, name = full_name.partition("/")
    return RepositoryName(Host.GITHUB, owner, name)


def add_repositories(registry: Registry, number: int, *skills: str, prefix: str = "acme") -> list[str]:
    """Add a number of repositories with these skills each; return their names."""
    names = [f"{prefix}/repo-{each}" for each in range(number)]
    for name in names:
        registry.github.add_repository(name, files=a_repository(*(skills or ("one", "two"))))
    return names


@dataclass
class ScriptedSource:
    """A source whose pages are scripted: names, or an error that is raised once."""

    script: Sequence[Sequence[str] | AssayError]
    name: str = "scripted"
    cadence: Cadence = field(default_factory=Cadence)
    sees: bool | None = None
    pages_read: list[int] = field(default_factory=list)

    async def pages(self, checkpoint: Checkpoint | None, budget: RunCallBudget) -> AsyncGenerator[CandidatePage, None]:
        start = (checkpoint or {}).get("at", 0)
        for at in range(start, len(self.script)):
            budget.spend()
            self.pages_read.append(at)
            page = self.script[at]
            if isinstance(page, AssayError):
                self.script = [*self.script[:at], [], *self.script[at + 1 :]]
                raise page
            is_last = at == len(self.script) - 1
            candidates = [Candidate(repository_name(each)) for each in page]
            yield CandidatePage(candidates, None if is_last else {"at": at + 1}, is_last)

    async def probe(self, budget: RunCallBudget) -> bool | None:
        return self.sees


class FailingSource(ScriptedSource):
    """A source that always fails."""

    def __init__(self, problem: Exception) -> None:
        super().__init__([[]])
        self.problem = problem

    async def pages(self, checkpoint: Checkpoint | None, budget: RunCallBudget) -> AsyncGenerator[CandidatePage, None]:
        raise self.problem
        yield


@asynccontextmanager
async def a_crawler(registry: Registry) -> AsyncIterator[Crawler]:
    async with open_crawler(registry.app) as crawler:
        yield crawler


async def crawl(registry: Registry, source: Any, **options: Any) -> RunRecord:
    """Run a source once, manually."""
    async with a_crawler(registry) as crawler:
        run = await crawler.run(source, RunRequest("test", **{"is_manual": True, **options}))
    assert run is not None
    return run


async def list_submissions(registry: Registry) -> list[tuple[str, str]]:
    """Return every submission as `(owner/name, path)`, with duplicates."""
    statement = (
        "SELECT r.owner || '/' || r.name, s.skill_path FROM submission s JOIN repository r ON r.id = s.repository_id"
    )
    async with registry.app.store.begin() as db:
        return sorted((row[0], row[1]) for row in await db.execute(text(statement)))


async def list_records(registry: Registry) -> dict[str, str]:
    """Return the state of each discovery record by repository."""
    async with registry.app.store.begin() as db:
        rows = await db.execute(text("SELECT full_name, state FROM discovery_record"))
        return {row[0]: row[1] for row in rows}


async def count(registry: Registry, table: str) -> int:
    async with registry.app.store.begin() as db:
        return (await db.execute(text(f"SELECT count(*) FROM {table}"))).scalar_one()


def expected_submissions(names: Sequence[str], *skills: str) -> list[tuple[str, str]]:
    """Return the submissions expected for these repositories."""
    return sorted((name, f"skills/{skill}/SKILL.md") for name in names for skill in (skills or ("one", "two")))
