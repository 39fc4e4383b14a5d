"""Filters of submissions: conditions on rows, and the candidate sets that are small enough to read completely."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import asyncpg
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.repository import RepositoryName
from assay.model.submission import SubmissionFilters
from assay.store.repositories.repositories import find_repository
from assay.store.skills.search_text import escape_like
from assay.store.submissions.walks import MAX_SCANNED, IndexRange
from assay.store.tables.base import quoted

# Time limit for name searches; a text that takes longer is too common to search for.
NAME_SEARCH_MILLISECONDS = 300
# Without three letters or digits in a row, the trigram index would be read completely.
HAS_TRIGRAM = re.compile(r"[^\W_]{3}")
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
    # Scalar subqueries: the pattern is computed once, and the planner cannot read all repositories for one page.
    "words": "(lower(skill_name) LIKE (SELECT lower(:pattern)) OR lower((SELECT owner || '/' || name FROM repository "
    "WHERE repository.id = repository_id)) LIKE (SELECT lower(:pattern)))",
}


@dataclass(frozen=True)
class FilterConditions:
    """SQL conditions by the name of their filter, and the values they need."""

    conditions: dict[str, str]
    values: dict[str, object]


@dataclass(frozen=True)
class Candidates:
    """A superset of the submissions that match a filter, with its size, exact up to MAX_SCANNED."""

    filter: str
    ranges: tuple[IndexRange, ...]
    number: int
    values: dict[str, object] = field(default_factory=dict)

    @property
    def are_few(self) -> bool:
        """True if all candidates can be read."""
        return self.number <= MAX_SCANNED


async def build_conditions(db: AsyncConnection, filters: SubmissionFilters) -> FilterConditions:
    """Build the conditions of filters. A repository is found by any of its names."""
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
    return FilterConditions(conditions, values)


async def measure_filters(db: AsyncConnection, criteria: FilterConditions) -> list[Candidates]:
    """Count the rows that each condition leaves, up to just above MAX_SCANNED, in one statement."""
    names = [name for name in criteria.conditions if name not in ("states", "words")]
    if not names:
        return []
    # Ordered like its index, so that a plan for an average value does not scan the table for a rare one.
    counts = ", ".join(
        f"(SELECT count(*) FROM (SELECT 1 FROM submission WHERE {criteria.conditions[name]} "
        f"{'' if name == 'repository' else 'ORDER BY created_at DESC, id DESC '}LIMIT {MAX_SCANNED + 1}) AS found)"
        for name in names
    )
    numbers = (await db.execute(text(f"SELECT {counts}"), criteria.values)).one()
    return [
        Candidates(name, (IndexRange(criteria.conditions[name]),), number)
        for name, number in zip(names, numbers, strict=True)
    ]


async def find_by_words(
    db: AsyncConnection, words: str, milliseconds: int = NAME_SEARCH_MILLISECONDS
) -> Candidates | None:
    """Find submissions by a part of their name or repository; None if there are too many or it takes too long."""
    if not HAS_TRIGRAM.search(words):
        return None
    # Always rolled back, which restores the settings of the transaction.
    savepoint = await db.begin_nested()
    try:
        # A custom plan: a common text is found by a scan, a rare one by the index.
        await db.execute(BOUNDS, {"milliseconds": str(milliseconds), "plan": "force_custom_plan"})
        params = {"pattern": f"%{escape_like(words)}%", "most": MAX_SCANNED + 1}
        found = (await db.execute(NAMES, params)).one()
    except DBAPIError as error:
        if not _is_timeout(error):
            raise
        return None
    finally:
        await savepoint.rollback()
    if found.number > MAX_SCANNED:
        return None
    return Candidates("words", (IndexRange("id = ANY(:found_ids)"),), found.number, {"found_ids": found.ids or []})


async def _repository_ids(db: AsyncConnection, name: RepositoryName) -> Sequence[int]:
    """Return the repository with this name and all rows merged into it."""
    known = await find_repository(db, name)
    return (await db.execute(SAME, {"id": known.id})).scalars().all() if known else []


def _is_timeout(error: DBAPIError) -> bool:
    cause = error.orig.__cause__ if error.orig is not None else None
    return isinstance(cause, asyncpg.QueryCanceledError)
