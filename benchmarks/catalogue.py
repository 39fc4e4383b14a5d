"""A catalogue of a given size, generated in the database, with words in a natural (Zipf) distribution."""

import random
from dataclasses import dataclass
from itertools import accumulate

import asyncpg

CHUNK = 50_000
REAL = (
    "code file data agent write read parse merge split check scan draw plan test sort find send load save lint "
    "sync trace build clean report invoice table chart video image email ticket branch schema query cluster "
    "secret poem recipe map pdf csv excel word slide python rust react docker kubernetes terraform security "
    "review deploy design research paper market finance calendar note slack github release changelog database "
    "postgres redis cache prompt model"
)
# A word of few skills, and one of every tenth description.
RARE, COMMON = "quokka", "workflow"
SYLLABLES = ("ba", "ce", "di", "fa", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "xe", "zo")
VOCABULARY = 6_000
CATEGORIES = ("development", "testing", "devops", "security", "data", "ai", "documents", "design", "writing", "other")

DRAFTS = "CREATE UNLOGGED TABLE draft (number int, title text, description text, chance float8, repository_id bigint)"
REPOSITORIES = """
INSERT INTO repository (host, owner, name, stars)
SELECT 'github', format('%s-%s', owner, number / 3), format('%s-%s', name, number), floor(exp(random() * 11)) - 1
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS given (owner, name, number)
"""
CONTENTS = """
INSERT INTO content (digest, files, file_count, size_bytes)
SELECT 'sha256:' || encode(sha256(number::text::bytea), 'hex'), '[]', 1, 1
FROM generate_series($1::int, $2::int) AS number
"""
SCAN = """
INSERT INTO scan (content_digest, tier, engine, ruleset, has_code, outcome, decision, score, duration_ms)
SELECT digest, 1, 'bench', '1', false, 'PASS', 'approve', 90, 1 FROM content LIMIT 1
"""
# Every 33rd skill has the content of the one before it, in another repository.
SKILLS = """
WITH listed AS (
    INSERT INTO skill (id, name, repository_id, skill_path, display_name, description, author, tier, method, score,
        trust_score, trust_tier, current_version_id, category, labels, stars, installs, trending_7d, created_at,
        updated_at)
    SELECT gen_random_uuid(),
        lower(format('%s/%s/%s-%s', owner, repository.name, replace(title, ' ', '-'), to_hex(number))),
        repository.id, format('skills/%s-%s/SKILL.md', replace(title, ' ', '-'), number), title, description, owner,
        CASE WHEN chance < 0.9 THEN 'SCANNED' WHEN chance < 0.995 THEN 'VERIFIED' ELSE 'CERTIFIED' END, 'static', 90,
        50, CASE WHEN chance < 0.9 THEN 'T2' WHEN chance < 0.995 THEN 'T3' ELSE 'T4' END,
        ('00000000-0000-4000-8000-' || lpad(to_hex(number), 12, '0'))::uuid,
        ($3::text[])[1 + floor(power(10, random()))::int % 10], ARRAY[split_part(description, ' ', 1)],
        stars, floor(exp(random() * 9)) - 1, floor(exp(random() * 6)) - 1,
        now() - make_interval(mins => $4::int - number), now() - make_interval(mins => ($4::int - number) / 2)
    FROM draft JOIN repository ON repository.id = draft.repository_id
    RETURNING id, current_version_id
)
INSERT INTO skill_version (id, skill_id, version, ordinal, content_digest, commit, scan_id, tier, score, hallmark)
SELECT current_version_id, listed.id, '1.0.0', 1,
    'sha256:' || encode(sha256((number - CASE WHEN number % 33 = 0 THEN 1 ELSE 0 END)::text::bytea), 'hex'),
    repeat('b', 40), scan.id, 'SCANNED', 90, '{}'
FROM listed
JOIN (SELECT number, ('00000000-0000-4000-8000-' || lpad(to_hex(number), 12, '0'))::uuid AS version_id
    FROM generate_series($1::int, $2::int) AS number) AS numbered ON version_id = current_version_id, scan
"""
# Tables are filled faster without indexes.
INDEXES = """
SELECT indexname, indexdef FROM pg_indexes
WHERE tablename = 'skill' AND indexname NOT IN (SELECT conname FROM pg_constraint)
"""


@dataclass(frozen=True)
class Catalogue:
    """Size of the catalogue."""

    skills: int

    @property
    def repositories(self) -> int:
        """Number of repositories, at a realistic number of skills each."""
        return max(1, self.skills // 12)


class Words:
    """Pseudorandom words, equal in every run; the first of the list are the most frequent (Zipf)."""

    def __init__(self) -> None:
        self._chance = random.Random(7)
        words = dict.fromkeys(REAL.split())
        while len(words) < VOCABULARY:
            words["".join(self._chance.choices(SYLLABLES, k=self._chance.randint(2, 4)))] = None
        self._words = list(words)
        self._weights = list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))

    def pick(self, number: int) -> list[str]:
        """Return words, possibly with repetitions."""
        return self._chance.choices(self._words, cum_weights=self._weights, k=number)

    def draft(self, number: int, repositories: int) -> tuple[int, str, str, float, int]:
        """Return number, title, description, chance and repository of a skill; some repositories have many skills."""
        chance = self._chance.random()
        extra = [COMMON] * (number % 10 == 0) + [RARE] * (number % 5_000 == 7)
        repository = 1 + int(repositories * self._chance.random() * self._chance.random())
        return number, " ".join(self.pick(2)), " ".join(self.pick(25) + extra), chance, repository


async def fill_catalogue(url: str, catalogue: Catalogue) -> None:
    """Fill an empty registry with live skills; triggers maintain its counters as usual."""
    db = await asyncpg.connect(url, server_settings={"maintenance_work_mem": "512MB", "statement_timeout": "0"})
    try:
        words = Words()
        await db.execute("SELECT setseed(0.5)")
        await db.execute(DRAFTS)
        await db.execute(REPOSITORIES, words.pick(catalogue.repositories), words.pick(catalogue.repositories))
        indexes = await db.fetch(INDEXES)
        for index in indexes:
            await db.execute(f"DROP INDEX {index['indexname']}")
        for start in range(1, catalogue.skills + 1, CHUNK):
            end = min(start + CHUNK - 1, catalogue.skills)
            await db.execute(CONTENTS, start, end)
            if start == 1:
                await db.execute(SCAN)
            drafts = [words.draft(number, catalogue.repositories) for number in range(start, end + 1)]
            await db.execute("TRUNCATE draft")
            await db.copy_records_to_table("draft", records=drafts)
            await db.execute(SKILLS, start, end, list(CATEGORIES), catalogue.skills)
        for index in indexes:
            await db.execute(index["indexdef"])
        await db.execute("DROP TABLE draft")
        await db.execute("VACUUM ANALYZE")
    finally:
        await db.close()
