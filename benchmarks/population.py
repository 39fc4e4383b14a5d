"""A registry with a given number of submissions, generated in the database in realistic proportions."""

from dataclasses import dataclass

import asyncpg

from assay.store.database.database import open_database
from assay.store.submissions.counts import fold_counts

CHUNK = 250_000
DAYS = 180
DIGEST = "sha256:" + "a" * 64
COMMIT = "b" * 40

# Per thousand submissions: 960 have a final state, 9 wait, 1 is being scanned, the others are parked or need action.
MIX = (
    ("PUBLISHED", 600),
    ("REJECTED", 200),
    ("TIER1_FAILED", 130),
    ("BLOCKED", 30),
    ("NEEDS_REVIEW", 10),
    ("FAILED", 10),
    ("DEQUEUED", 5),
    ("ON_HOLD", 5),
    ("RECEIVED", 9),
    ("TIER1_SCANNING", 1),
)
VERBS = "write read parse merge split check scan draw plan test sort find send load save lint sync trace build clean"
NOUNS = "report invoice table chart video image email ticket branch schema query cluster secret poem recipe map"

REPOSITORIES = """
INSERT INTO repository (host, owner, name)
SELECT
    'github',
    left(md5('owner' || number / 4), 8),
    format('%s-%s', ($2::text[])[1 + number % 16], left(md5(number::text), 5))
FROM generate_series(1, $1::int) AS number
"""
CONTENT = f"INSERT INTO content (digest, files, file_count, size_bytes) VALUES ('{DIGEST}', '[]', 1, 1)"
SCAN = f"""
INSERT INTO scan (content_digest, tier, engine, ruleset, has_code, outcome, decision, score, duration_ms)
VALUES ('{DIGEST}', 1, 'bench', '1', false, 'PASS', 'approve', 90, 1)
"""
SKILLS = f"""
WITH listed AS (
    INSERT INTO skill (id, name, repository_id, skill_path, display_name, description, author, tier, method, score,
        trust_score, trust_tier, current_version_id)
    SELECT uuidv7(), lower(owner || '/' || name || '/skill'), id, 'SKILL.md', name, 'A skill.', owner, 'SCANNED',
        'static', 90, 50, 'T2', uuidv7()
    FROM repository
    RETURNING id, current_version_id
)
INSERT INTO skill_version (id, skill_id, version, ordinal, content_digest, commit, scan_id, tier, score, hallmark)
SELECT current_version_id, listed.id, '1.0.0', 1, '{DIGEST}', '{COMMIT}', scan.id, 'SCANNED', 90, '{{}}'
FROM listed, scan
"""
# Shuffled deterministically: every thousand consecutive rows have the same mix, so that first pages are alike at any
# size. A row is updated shortly after it was created, with other rows created in between.
SUBMISSIONS = """
INSERT INTO submission (id, repository_id, skill_name, skill_path, state, origin, submitter, skill_id, score,
    reason_code, reason_message, next_step, created_at, updated_at, received_at, decided_at)
SELECT
    uuidv7(created_at - now()),
    drawn.repository_id,
    skill_name,
    'skills/' || number || '/SKILL.md',
    state,
    (ARRAY['api', 'cli', 'upload', 'bulk', 'bulk', 'bulk', 'bulk', 'bulk', 'bulk', 'bulk'])[1 + dice % 10],
    CASE WHEN dice % 10 = 0 THEN (1 + number / 200)::text END,
    listed.id,
    CASE WHEN state = 'PUBLISHED' THEN 90 END,
    CASE WHEN is_refused THEN reason END,
    CASE WHEN is_refused THEN 'It was refused.' END,
    CASE WHEN is_refused THEN 'Change it and submit it again.' END,
    created_at,
    updated_at,
    created_at,
    CASE WHEN state NOT IN ('RECEIVED', 'TIER1_SCANNING') THEN updated_at END
FROM (
    SELECT
        number,
        dice,
        ($5::text[])[1 + lot] AS state,
        1 + number % $4 AS repository_id,
        CASE WHEN number % ($3 / 10) = 0 THEN 'quokka-' || number
            ELSE format(
                '%s-%s-%s', ($6::text[])[1 + dice % 20], ($7::text[])[1 + dice / 20 % 16], left(md5(number::text), 4)
            )
        END AS skill_name,
        now() - make_interval(secs => 86400.0 * $8 * ($3 - number) / $3) AS created_at,
        now() - make_interval(secs => 86400.0 * $8 * ($3 - number - lot % 100) / $3) AS updated_at,
        (ARRAY['source_not_found', 'skill_not_in_source', 'critical_findings', 'low_score'])[1 + dice / 7 % 4]
            AS reason
    FROM (
        SELECT number, abs(hashint4(number)::bigint) AS dice, number::bigint * 7919 % 1000 AS lot
        FROM generate_series($1::int, $2::int) AS number
    ) AS numbered
) AS drawn
CROSS JOIN LATERAL (SELECT state NOT IN ('PUBLISHED', 'RECEIVED', 'TIER1_SCANNING') AS is_refused) AS refused
LEFT JOIN (SELECT id, repository_id FROM skill) AS listed
    ON listed.repository_id = drawn.repository_id AND state = 'PUBLISHED'
"""
JOBS = """
INSERT INTO pgqueuer (priority, status, entrypoint, dedupe_key, payload, queue_manager_id)
SELECT
    CASE WHEN hashint4(length(skill_name)) % 20 = 0 THEN 10 ELSE 0 END,
    (CASE state WHEN 'RECEIVED' THEN 'queued' ELSE 'picked' END)::pgqueuer_status,
    'submission',
    id || ':' || cycle,
    convert_to(json_build_object('subject_id', id, 'cycle', cycle)::text, 'UTF8'),
    CASE state WHEN 'RECEIVED' THEN NULL ELSE gen_random_uuid() END
FROM submission WHERE state IN ('RECEIVED', 'TIER1_SCANNING') ORDER BY created_at
"""
# The rows were inserted at once; write the arrival rates of real workers instead.
ARRIVALS = """
INSERT INTO submission_arrival (minute, state, number)
SELECT date_trunc('minute', now()) - make_interval(mins => minute), state, 30
FROM generate_series(1, 1440) AS minute, unnest(ARRAY['RECEIVED', 'TIER1_SCANNING', 'PUBLISHED', 'REJECTED']) AS state
"""
# Tables are filled faster without indexes.
INDEXES = """
SELECT indexname, indexdef FROM pg_indexes
WHERE tablename = 'submission' AND indexname NOT IN (SELECT conname FROM pg_constraint)
"""


@dataclass(frozen=True)
class Population:
    """Size of the registry."""

    submissions: int

    @property
    def repositories(self) -> int:
        """Number of repositories, at a realistic number of skills each."""
        return max(1, self.submissions // 25)


async def populate(url: str, population: Population) -> None:
    """Fill an empty registry; its own triggers and periodic job maintain the counters."""
    db = await asyncpg.connect(url, server_settings={"maintenance_work_mem": "512MB"})
    try:
        async with db.transaction():
            await db.execute(REPOSITORIES, population.repositories, NOUNS.split())
            for statement in (CONTENT, SCAN, SKILLS):
                await db.execute(statement)
        await _submit(db, population)
        await db.execute(JOBS)
        async with open_database(url) as store, store.begin() as connection:
            await fold_counts(connection)
        for statement in ("DELETE FROM submission_arrival", ARRIVALS, "VACUUM (ANALYZE)", "CHECKPOINT"):
            await db.execute(statement)
    finally:
        await db.close()


async def _submit(db: asyncpg.Connection, population: Population) -> None:
    states = [state for state, number in MIX for _ in range(number)]
    indexes = await db.fetch(INDEXES)
    for index in indexes:
        await db.execute(f"DROP INDEX {index['indexname']}")
    await db.execute("ANALYZE repository, skill")
    for start in range(1, population.submissions + 1, CHUNK):
        end = min(start + CHUNK - 1, population.submissions)
        await db.execute(
            SUBMISSIONS, start, end, population.submissions, population.repositories, states,
            VERBS.split(), NOUNS.split(), DAYS,
        )  # fmt: skip
    for index in indexes:
        await db.execute(index["indexdef"])
