"""Search: a bounded set of candidates from indexes, then ranked; exact names first."""

import re

from sqlalchemy import ColumnElement, case, func, or_, select, union_all
from sqlalchemy.dialects.postgresql import TSQUERY
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.skill import Skill
from assay.store.skills import IS_LIVE, read_skills, skill_of
from assay.store.tables import repository, skill

# Common words match everything; ranking all of it would cost in proportion to the catalogue.
CANDIDATES = 2_000


async def search_skills(db: AsyncConnection, query: str, *, limit: int, offset: int) -> list[Skill]:
    """Skills whose name, words, author or repository match, the exact ones first."""
    wanted = query.lower()
    pattern = f"%{escape_like(wanted)}%"
    words = _word_query(wanted)
    full_name = func.lower(repository.c.owner + "/" + repository.c.name)
    matches = union_all(
        select(skill.c.id).where(IS_LIVE, skill.c.search_document.op("@@")(words)).limit(CANDIDATES),
        select(skill.c.id).where(IS_LIVE, skill.c.search_text.like(pattern, escape="\\")).limit(CANDIDATES),
        select(skill.c.id)
        .select_from(repository.join(skill, skill.c.repository_id == repository.c.id))
        .where(IS_LIVE, full_name.like(pattern, escape="\\"))
        .limit(CANDIDATES),
    ).subquery()
    exact = case(
        (skill.c.name == wanted, 3),
        (or_(func.split_part(skill.c.name, "/", 3) == wanted, func.lower(skill.c.display_name) == wanted), 2),
        (full_name == wanted, 1),
        else_=0,
    )
    rank = func.ts_rank(skill.c.search_document, words)
    statement = (
        read_skills()
        .where(skill.c.id.in_(select(matches.c.id)))
        .order_by(exact.desc(), rank.desc(), skill.c.updated_at.desc(), skill.c.id.desc())
        .limit(limit)
        .offset(offset)
    )
    return [skill_of(row) for row in await db.execute(statement)]


def escape_like(words: str) -> str:
    """The words themselves, not as a pattern."""
    return re.sub(r"([\\%_])", r"\\\1", words)


def _word_query(wanted: str) -> ColumnElement[str]:
    """Every word must occur, the last one perhaps unfinished; stemmed words count too."""
    words = re.findall(r"\w+", wanted)
    plain = " & ".join(f"{word}:*" for word in words)
    stemmed = func.websearch_to_tsquery("english", wanted)
    if not plain:
        return stemmed
    return func.to_tsquery("simple", plain).op("||", return_type=TSQUERY())(stemmed)
