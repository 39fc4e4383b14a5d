"""Finding a listing by name, alias or slug."""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Ambiguous, NotFound
from assay.model.skill import Skill
from assay.serve.visibility import require_visible
from assay.store.skills.names import resolve_name
from assay.store.skills.skills import find_skill, get_skill


async def find_listing(db: AsyncConnection, name: str) -> Skill:
    """Return the live listing for a name, an alias or a slug; its name tells the caller if it was an alias.

    Raises NotFound, Gone with the reason, or Ambiguous with all candidates: a guess could be another owner's skill.
    """
    skill = await find_any_listing(db, name)
    require_visible(skill)
    return skill


async def find_any_listing(db: AsyncConnection, name: str) -> Skill:
    """Like `find_listing`, for a listing of any status."""
    if "\x00" in name:  # PostgreSQL rejects such text
        raise NotFound(f"There is no skill {name}.", code="skill_not_found")
    return await find_skill(db, name) or await _by_another_name(db, name)


async def _by_another_name(db: AsyncConnection, name: str) -> Skill:
    names = await resolve_name(db, name.lower())
    if len(names) > 1:
        raise Ambiguous(f"Several skills are called {name}: {', '.join(names)}.", choices=names)
    return await get_skill(db, names[0] if names else name)
