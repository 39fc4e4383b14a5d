"""The number of listed skills costs the same at any size."""

import asyncpg
from sqlalchemy import text

from assay.store.database.database import open_database
from assay.store.skills.counts import count_skills
from assay.store.submissions.counts import fold_counts
from tests.support.web.crowd import a_crowd, settle

MORE = """
WITH listed AS (
    INSERT INTO skill (id, name, repository_id, skill_path, display_name, description, author, tier, method, score,
        trust_score, trust_tier, current_version_id)
    SELECT gen_random_uuid(), 'a/b/' || number, repository_id, number || '/SKILL.md', 'x', 'x', 'x', tier, method, score,
        trust_score, trust_tier, gen_random_uuid()
    FROM skill, generate_series(1, $1::int) AS number WHERE name = 'acme/tools/pdf'
    RETURNING id, current_version_id
)
INSERT INTO skill_version (id, skill_id, version, ordinal, content_digest, commit, scan_id, tier, score, hallmark)
SELECT listed.current_version_id, listed.id, '1', 1, content_digest, commit, scan_id, tier, score, hallmark
FROM listed, (SELECT * FROM skill_version LIMIT 1) AS version
"""


async def test_skill_count_matches_the_table(database_url: str) -> None:
    """G12: after inserts, deletes and folds."""
    await settle(database_url, a_crowd(1))
    db = await asyncpg.connect(database_url)
    async with open_database(database_url) as store:
        for statement in (
            MORE,
            "DELETE FROM skill_version WHERE skill_id IN (SELECT id FROM skill WHERE name > 'a/b/3')",
        ):
            async with db.transaction():
                await db.execute(statement, *([9] if statement is MORE else []))
                await db.execute("DELETE FROM skill WHERE id NOT IN (SELECT skill_id FROM skill_version)")
            for _ in range(2):
                async with store.begin() as connection:
                    counted = (await connection.execute(text("SELECT count(*) FROM skill"))).scalar_one()
                    assert await count_skills(connection) == counted > 1
                    await fold_counts(connection)
        # As many as arrive between two folds of a busy registry; they add up to zero.
        await db.execute(
            "INSERT INTO skill_count (facet, value, number) SELECT 'all', '', (-1) ^ n FROM generate_series(1, 100) AS n"
        )
        async with store.begin() as connection:
            await fold_counts(connection)
            assert await count_skills(connection) == counted
        kinds = await db.fetchval("SELECT count(DISTINCT (facet, value)) FROM skill_count")
        assert await db.fetchval("SELECT count(*) FROM skill_count") == kinds
    await db.close()
