"""Filters of submissions: which set is small enough to be looked at whole, and what is asked of each row of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import asyncpg
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.repository import RepositoryName
from assay.model.submission_list import Filters
from assay.store.repositories.repositories import find_repository
from assay.store.skills.search_text import escape_like
from assay.store.submissions.walks import LOOK_AT_MOST, Range
from assay.store.tables.base import quoted

# How long the database may look for a text in names, before it counts as too common to be looked up.
NAMES_MILLISECONDS = 300
# With fewer letters or digits in a row the index of names has nothing to look up, and would be read as a whole.
LOOKED_UP = re.compile(r"[^\W_]{3}")
NAMES = text(
    """
    WITH named AS MATERIALIZED (
        SELECT id FROM submission
        WHERE lower(skill_name) LIKE lower(:pattern) AND strpos(:pattern, '/') = 0  -- no skill is called that
        LIMIT :most
    ), held AS MATERIALIZED (
        SELECT submission.id FROM submission JOIN repository ON repository.id = submission.repository_id
        WHERE lower(repository.owner || '/' || repository.name) LIKE lower(:pattern) LIMIT :most
    ), found AS MATERIALIZED (
        SELECT id FROM named UNION SELECT id FROM held
    )
    SELECT count(*) AS number, CASE WHEN count(*) < :most THEN array_agg(id) END AS ids FROM found
    """
)
BOUNDS = text("SELECT set_config('statement_timeout', :milliseconds, true), set_config('plan_cache_mode', :plan, true)")
SAME = text("SELECT id FROM repository WHERE id = :id OR merged_into_id = :id")
CONDITIONS = {
    "submitter": "submitter = :submitter",
    "repository": "repository_id = ANY(:repository_ids)",
    "reason": "reason_code = :reason",
    "origin": "origin = :origin",
    # Scalar queries: the pattern is made once, and no planner reads all repositories to look up the few of a page.
    "words": "(lower(skill_name) LIKE (SELECT lower(:pattern)) OR lower((SELECT owner || '/' || name FROM repository "
    "WHERE repository.id = repository_id)) LIKE (SELECT lower(:pattern)))",
}


@dataclass(frozen=True)
class Asked:
    """What filters ask of a row, by the name of the filter, and the values for it."""

    conditions: dict[str, str]
    values: dict[str, object]


@dataclass(frozen=True)
class Candidates:
    """Submissions among which are all that match a filter; how many, exactly up to LOOK_AT_MOST."""

    filter: str
    ranges: tuple[Range, ...]
    number: int
    values: dict[str, object] = field(default_factory=dict)

    @property
    def are_few(self) -> bool:
        """Whether all of them can be looked at."""
        return self.number <= LOOK_AT_MOST


async def ask(db: AsyncConnection, filters: Filters) -> Asked:
    """The conditions; a repository is found under any of its names."""
    values: dict[str, object] = {}
    if filters.submitter is not None:
        values["submitter"] = filters.submitter
    if filters.repository is not None:
        values["repository_ids"] = await _repository_ids(db, filters.repository)
    if filters.reason is not None:
        values["reason"] = filters.reason
    if filters.origin is not None:
        values["origin"] = filters.origin.value
    if filters.words is not None:
        values["pattern"] = f"%{escape_like(filters.words)}%"
    conditions = {name: sql for name, sql in CONDITIONS.items() if getattr(filters, name) is not None}
    if filters.states is not None:
        conditions["states"] = f"state IN ({quoted(filters.states)})"
    return Asked(conditions, values)


async def measure_filters(db: AsyncConnection, asked: Asked) -> list[Candidates]:
    """How many rows each of these conditions leaves, counted a little further than LOOK_AT_MOST; one statement."""
    names = [name for name in asked.conditions if name not in ("states", "words")]
    if not names:
        return []
    # In the order of its index, so that no plan made for an average value reads the table for a rare one.
    counts = ", ".join(
        f"(SELECT count(*) FROM (SELECT 1 FROM submission WHERE {asked.conditions[name]} "
        f"{'' if name == 'repository' else 'ORDER BY created_at DESC, id DESC '}LIMIT {LOOK_AT_MOST + 1}) AS found)"
        for name in names
    )
    numbers = (await db.execute(text(f"SELECT {counts}"), asked.values)).one()
    return [
        Candidates(name, (Range(asked.conditions[name]),), number) for name, number in zip(names, numbers, strict=True)
    ]


async def look_up_words(db: AsyncConnection, words: str, milliseconds: int = NAMES_MILLISECONDS) -> Candidates | None:
    """Submissions whose name or repository holds the words; None if that are too many, or if nobody can tell soon."""
    if not LOOKED_UP.search(words):
        return None
    # Rolled back in any case, which is what gives the transaction its own bounds again.
    nested = await db.begin_nested()
    try:
        # The plan must be made for this text: a common one is found by reading on, a rare one by its index.
        await db.execute(BOUNDS, {"milliseconds": str(milliseconds), "plan": "force_custom_plan"})
        given = {"pattern": f"%{escape_like(words)}%", "most": LOOK_AT_MOST + 1}
        found = (await db.execute(NAMES, given)).one()
    except DBAPIError as problem:
        if not _ran_out_of_time(problem):
            raise
        return None
    finally:
        await nested.rollback()
    if found.number > LOOK_AT_MOST:
        return None
    return Candidates("words", (Range("id = ANY(:found_ids)"),), found.number, {"found_ids": found.ids or []})


async def _repository_ids(db: AsyncConnection, name: RepositoryName) -> Sequence[int]:
    """The repository of this name, and those that turned out to be the same one."""
    known = await find_repository(db, name)
    return (await db.execute(SAME, {"id": known.id})).scalars().all() if known else []


def _ran_out_of_time(problem: DBAPIError) -> bool:
    cause = problem.orig.__cause__ if problem.orig is not None else None
    return isinstance(cause, asyncpg.QueryCanceledError)
