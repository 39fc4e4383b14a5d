"""The search probe: searches for listed skills by their own names and records those that are not found."""

from collections.abc import Callable, Iterator

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.skill import SkillFilters
from assay.serve.skills.query import MAX_QUERY_LENGTH, MIN_QUERY_LENGTH, SkillQuery
from assay.serve.skills.search import SkillPage, read_skills
from assay.store.operations.periodic_jobs import read_position, save_position
from assay.store.skills.probes import is_listed, list_missed, list_probe_targets, record_probes

log = structlog.get_logger()
PROBE = "probe search"
# Per run: the number of listings to probe next, and of earlier misses to probe again.
SAMPLE = 20
PAGE = 50


async def probe_search(db: AsyncConnection) -> int:
    """Probe the next few listings and earlier misses; returns the number not found."""
    next_ones = await list_probe_targets(db, await read_position(db, PROBE), SAMPLE)
    chosen = {each.id: each.name for each in [*await list_missed(db, SAMPLE), *next_ones]}
    missed = {}
    for skill_id, name in chosen.items():
        query = await find_miss(db, name)
        # A listing removed meanwhile is rightly not found.
        if query is not None and await is_listed(db, skill_id, name):
            missed[skill_id] = query
            log.error("Search misses a listed skill", skill=name, query=query)
    await record_probes(db, [each for each in chosen if each not in missed], missed)
    # Start over at the end of the list.
    await save_position(db, PROBE, next_ones[-1].name if len(next_ones) == SAMPLE else None)
    return len(missed)


async def find_miss(db: AsyncConnection, name: str) -> str | None:
    """Return the first search that misses a live listing: by its name, its slug or its words; None if all find it."""
    for query, is_found in _expectations(name):
        if MIN_QUERY_LENGTH <= len(query.words or "") <= MAX_QUERY_LENGTH and not is_found(
            await read_skills(db, query)
        ):
            return query.words
    return None


def _expectations(name: str) -> Iterator[tuple[SkillQuery, Callable[[SkillPage], bool]]]:
    owner, repository, slug = name.split("/")
    words = SkillQuery(f"{owner} {repository} {slug}", SkillFilters(source=f"{owner}/{repository}"), limit=PAGE)
    yield SkillQuery(name, limit=1), lambda page: _names(page) == [name]
    # Other skills may have the same slug.
    yield SkillQuery(slug, limit=1), lambda page: [each.rpartition("/")[2] for each in _names(page)] == [slug]
    # Inconclusive unless it is the last page.
    yield words, lambda page: page.next_cursor is not None or name in _names(page)


def _names(page: SkillPage) -> list[str]:
    return [hit.skill.name for hit in page.hits]
