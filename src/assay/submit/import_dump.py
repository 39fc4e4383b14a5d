"""Brings in what a dump of another registry names: what is listed here already is skipped, the rest is submitted."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import structlog

from assay.model.errors import AssayError, Unavailable
from assay.model.repository import RepositoryName
from assay.store.database.database import Database
from assay.store.feed.edge_rows import live_names
from assay.submit.admission import Admission, Request
from assay.submit.bulk import MOST_ITEMS, accept_batch
from assay.submit.dump import BadLine, DumpedSkill, by_repository, path_in
from assay.submit.repository import RepositorySkills, SkillFinder

log = structlog.get_logger()
LOOKS_AT_ONCE = 8
MOST_SHOWN = 1_000


@dataclass
class BroughtIn:
    """What became of the lines: submitted, listed or known already, and wrong (the first of them with their number)."""

    lines: int = 0
    backfilled: int = 0
    listed: int = 0
    known: int = 0
    errors: int = 0
    problems: list[BadLine] = field(default_factory=list)

    def note(self, line: int, problem: AssayError) -> None:
        """One more line that is wrong."""
        self.errors += 1
        if len(self.problems) < MOST_SHOWN:
            self.problems.append(BadLine(line, problem))


async def bring_in(
    store: Database, finder: SkillFinder, dump: Iterable[DumpedSkill | BadLine], *, by: str
) -> BroughtIn:
    """Line by line in batches, in bounded memory; it may be run again, and then skips what it did before."""
    done, rest = BroughtIn(), iter(dump)
    while batch := list(islice(rest, MOST_ITEMS)):
        done.lines += len(batch)
        for each in batch:
            if isinstance(each, BadLine):
                done.note(each.line, each.problem)
        await _bring_in_batch(store, finder, [each for each in batch if isinstance(each, DumpedSkill)], done, by)
        log.info("Importing", lines=done.lines, submitted=done.backfilled, errors=done.errors)
    done.problems.sort(key=lambda each: each.line)
    return done


async def _bring_in_batch(
    store: Database, finder: SkillFinder, skills: Sequence[DumpedSkill], done: BroughtIn, by: str
) -> None:
    async with store.begin() as db:
        listed = await live_names(db, {each.full_name for each in skills})
    wanted = [each for each in skills if each.full_name not in listed]
    done.listed += len(skills) - len(wanted)
    requests = await _requests(finder, wanted, done, by)
    if not requests:
        return
    async with store.begin() as db:
        batch = await accept_batch(db, [request for _, request in requests], may_reopen=False)
    done.backfilled += batch.count(Admission.CREATED)
    for index, problem in batch.errors:
        done.note(requests[index][0], problem)
    done.known += len(requests) - batch.count(Admission.CREATED) - len(batch.errors)


async def _requests(
    finder: SkillFinder, wanted: Sequence[DumpedSkill], done: BroughtIn, by: str
) -> list[tuple[int, Request]]:
    """A request for each, with its line; repositories are looked into where a dump does not say the path."""
    placed = [(each.line, each.request(each.skill_path, by)) for each in wanted if each.skill_path is not None]
    places = by_repository(each for each in wanted if each.skill_path is None)
    gate = asyncio.Semaphore(LOOKS_AT_ONCE)

    async def look(name: RepositoryName) -> RepositorySkills | AssayError:
        async with gate:
            try:
                return await finder.find(name)
            except Unavailable:
                raise  # the rest would fail alike; what was brought in stays, and the import may be run again
            except AssayError as problem:
                return problem

    for name, found in zip(places, await asyncio.gather(*map(look, places)), strict=True):
        for skill in places[name]:
            try:
                if isinstance(found, AssayError):
                    raise found
                placed.append((skill.line, skill.request(path_in(skill, found.skill_paths), by)))
            except AssayError as problem:
                done.note(skill.line, problem)
    return sorted(placed, key=lambda each: each[0])
