"""Search: one query for the API and the pages."""

import re
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Invalid
from assay.model.skill import Skill
from assay.store.search import search_skills

SHORTEST, LONGEST = 2, 200
DEEPEST = 1_000


@dataclass(frozen=True)
class Found:
    """A page of hits, best first."""

    query: str
    skills: list[Skill]
    has_more: bool


async def find_skills(db: AsyncConnection, query: str, *, limit: int, offset: int) -> Found:
    """Words, parts of words, names, `owner/repo`, or a repository URL in any of its forms."""
    wanted = normalised(query)
    if not SHORTEST <= len(wanted) <= LONGEST:
        raise Invalid(f"q must have {SHORTEST} to {LONGEST} characters.", code="bad_query")
    if offset > DEEPEST:
        raise Invalid(f"offset: at most {DEEPEST}; narrow the search instead.", code="bad_offset")
    found = await search_skills(db, wanted, limit=limit + 1, offset=offset)
    return Found(query, found[:limit], has_more=len(found) > limit)


def normalised(query: str) -> str:
    """A repository URL becomes `owner/repo`; everything else stays as it is."""
    query = " ".join(query.replace("\x00", " ").split())
    url = re.fullmatch(r"(?:https?://)[^/\s]+/([^/\s]+/[^/\s?#]+?)(?:\.git)?(?:[/?#]\S*)?", query)
    return url.group(1) if url else query
