"""Search: one query for the API and the pages."""

import re
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Invalid
from assay.model.skill import Skill
from assay.store.search import search_skills

SHORTEST, LONGEST = 2, 200
DEEPEST = 1_000
# Owners have no dots, so a first part with a dot is a host even without a scheme; `git@host:` is one too.
URL = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^@/\s]+@)?[^/\s]+/|[^@/\s]+@[^:/\s]+:|(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?/)"
    r"(?P<name>[^/\s?#]+(?:/[^/\s?#]+)?)(?:[/?#]\S*)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Found:
    """A page of hits, best first."""

    query: str
    skills: list[Skill]
    has_more: bool


async def find_skills(db: AsyncConnection, query: str, *, web_url: str, limit: int, offset: int) -> Found:
    """Words, parts of words, names, `owner/repo`, or a repository URL in any of its forms."""
    wanted = normalised(query, web_url)
    if not SHORTEST <= len(wanted) <= LONGEST:
        raise Invalid(f"q must have {SHORTEST} to {LONGEST} characters.", code="bad_query")
    if offset > DEEPEST:
        raise Invalid(f"offset: at most {DEEPEST}; narrow the search instead.", code="bad_offset")
    found = await search_skills(db, wanted, limit=limit + 1, offset=offset)
    return Found(query, found[:limit], has_more=len(found) > limit)


def normalised(query: str, web_url: str) -> str:
    """A repository URL in any of its forms becomes `owner/repo`; everything else stays as it is."""
    query = " ".join(query.replace("\x00", " ").split())
    if query.lower().startswith(f"{web_url}/".lower()):  # a GitHub Enterprise may live below a path
        query = f"https://github.com/{query[len(web_url) + 1 :]}"
    url = URL.fullmatch(query)
    return url["name"].removesuffix(".git") if url else query.removesuffix("/")
