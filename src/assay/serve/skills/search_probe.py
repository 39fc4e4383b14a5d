"""The registry searches for its own skills, as everybody does, and notes what it does not find."""

from collections.abc import Callable, Iterator

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.skill_list import Filters
from assay.serve.skills.query import LONGEST, SHORTEST, SkillQuery
from assay.serve.skills.search import SkillPage, read_skills
from assay.store.operations.periodic_jobs import read_position, save_position
from assay.store.skills.probes import is_listed, list_missed, list_to_probe, record_probes

log = structlog.get_logger()
PROBE = "probe search"
# A turn looks for so many that were never missed, and for so many that were.
SAMPLE = 20
PAGE = 50


async def probe_search(db: AsyncConnection) -> int:
    """Look for the next few listings, and again for those that were missed. Returns how many were not found."""
    next_ones = await list_to_probe(db, await read_position(db, PROBE), SAMPLE)
    chosen = {each.id: each.name for each in [*await list_missed(db, SAMPLE), *next_ones]}
    missed = {}
    for skill_id, name in chosen.items():
        query = await find_miss(db, name)
        # What was taken down meanwhile is rightly not found.
        if query is not None and await is_listed(db, skill_id, name):
            missed[skill_id] = query
            log.error("A listed skill is not found by its own name", skill=name, query=query)
    await record_probes(db, [each for each in chosen if each not in missed], missed)
    # At the end of the list it begins anew.
    await save_position(db, PROBE, next_ones[-1].name if len(next_ones) == SAMPLE else None)
    return len(missed)


async def find_miss(db: AsyncConnection, name: str) -> str | None:
    """The first of these searches that does not find a live listing: its name, its slug, and its words."""
    for query, is_found in _expectations(name):
        if SHORTEST <= len(query.words or "") <= LONGEST and not is_found(await read_skills(db, query)):
            return query.words
    return None


def _expectations(name: str) -> Iterator[tuple[SkillQuery, Callable[[SkillPage], bool]]]:
    owner, repository, slug = name.split("/")
    words = SkillQuery(f"{owner} {repository} {slug}", Filters(source=f"{owner}/{repository}"), limit=PAGE)
    yield SkillQuery(name, limit=1), lambda page: _names(page) == [name]
    # Others may be called the same.
    yield SkillQuery(slug, limit=1), lambda page: [each.rpartition("/")[2] for each in _names(page)] == [slug]
    # A page that is not the last cannot tell.
    yield words, lambda page: page.next_cursor is not None or name in _names(page)


def _names(page: SkillPage) -> list[str]:
    return [hit.skill.name for hit in page.hits]
