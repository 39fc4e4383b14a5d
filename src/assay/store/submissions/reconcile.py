"""The counters against the tables they count."""

from collections.abc import Mapping

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

SKILLS = "skills"
# One statement sees one moment: whoever moves submissions meanwhile moves the counters with them, so the difference
# stays true whatever is committed before it is added. It goes to the totals, because a delta above zero is an arrival.
CORRECT = text(
    """
    WITH counted AS (
        SELECT state, sum(number) AS number FROM (
            SELECT state, total AS number FROM submission_count
            UNION ALL
            SELECT state, delta FROM submission_count_delta
        ) AS parts
        GROUP BY state
    ), truth AS (
        SELECT state, count(*) AS number FROM submission GROUP BY state
    ), difference AS (
        SELECT state, coalesce(truth.number, 0) - coalesce(counted.number, 0) AS number
        FROM truth FULL JOIN counted USING (state)
    )
    INSERT INTO submission_count AS kept (state, total)
    SELECT state, number FROM difference WHERE number <> 0 ORDER BY state
    ON CONFLICT (state) DO UPDATE SET total = kept.total + excluded.total
    RETURNING state, (SELECT number FROM difference WHERE difference.state = kept.state) AS added
    """
)
CORRECT_SKILLS = text(
    """
    WITH counted AS (
        SELECT facet, value, sum(number) AS number FROM skill_count GROUP BY facet, value
    ), truth AS (
        SELECT facet, value, count(*) AS number FROM skill
        CROSS JOIN LATERAL (VALUES ('all', ''), ('category', category), ('tier', tier)) AS facets (facet, value)
        WHERE standing = 'live' GROUP BY facet, value
    )
    INSERT INTO skill_count (facet, value, number)
    SELECT facet, value, coalesce(truth.number, 0) - coalesce(counted.number, 0)
    FROM truth FULL JOIN counted USING (facet, value)
    WHERE coalesce(truth.number, 0) <> coalesce(counted.number, 0)
    RETURNING facet, value, number
    """
)


async def correct_counts(db: AsyncConnection) -> Mapping[str, int]:
    """Count everything, and make the counters agree. Returns by how much each was too low, by state and for skills."""
    added = {row.state: int(row.added) for row in await db.execute(CORRECT)}
    for facet, value, number in await db.execute(CORRECT_SKILLS):
        added[SKILLS if facet == "all" else f"{SKILLS} of {facet} {value}"] = int(number)
    return added
