"""More submissions than one page may examine: responses are bounded and mark what they do not know."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest
from sqlalchemy import text

from assay.model.submission import STATE_GROUPS, StateGroup, SubmissionFilters, SubmissionSort, submission_order
from assay.serve.queue.queue import QueueQuery, read_queue
from assay.store.database.database import PoolOptions, open_database
from assay.store.submissions.filters import find_by_words
from assay.store.submissions.walks import MAX_SCANNED
from tests.support.backlog import rows_read
from tests.support.registry import Registry
from tests.support.web.statements import statements

LIST = "/api/v1/submissions"
MANY = MAX_SCANNED + 1_200
# The oldest 40 have another name, every 500th came through the API, and all belong to one repository.
FILL = """
INSERT INTO submission (id, repository_id, skill_name, skill_path, state, origin, reason_code, reason_message,
    created_at, updated_at)
SELECT gen_random_uuid(), (SELECT id FROM repository), CASE WHEN number <= 40 THEN 'ab-needle-' ELSE 'common-' END || number,
    'SKILL.md', CASE WHEN number % 3 = 0 THEN 'REJECTED' ELSE 'TIER1_FAILED' END,
    CASE WHEN number % 500 = 0 THEN 'api' ELSE 'bulk' END, 'low_score', 'Scored 3.',
    now() - ($1 - number) * interval '1 second', now() - number * interval '1 second'
FROM generate_series(1, $1::int) AS number
"""


@pytest.fixture
async def crowded(registry: Registry, database_url: str) -> AsyncIterator[Registry]:
    """Return a registry with more submissions than one page may examine."""
    db = await asyncpg.connect(database_url)
    await db.execute("INSERT INTO repository (host, owner, name) VALUES ('github', 'acme', 'tools')")
    await db.execute(FILL, MANY)
    await db.execute("VACUUM ANALYZE")
    await db.close()
    yield registry


async def read(registry: Registry, **given: Any) -> dict[str, Any]:
    """Return one page."""
    answer = await registry.client.get(LIST, params=given)
    assert answer.status_code == 200, (given, answer.text)
    body: dict[str, Any] = answer.json()
    return body


async def every_row(registry: Registry, **given: Any) -> list[str]:
    """Return all rows of a list by cursor; pages before the last may be short or empty."""
    page = await read(registry, **given)
    found = [each["id"] for each in page["submissions"]]
    for _ in range(100):
        if page["nextCursor"] is None:
            return found
        page = await read(registry, **given, cursor=page["nextCursor"])
        found += [each["id"] for each in page["submissions"]]
    raise AssertionError("The list has no end.")


async def ids(database_url: str, where: str) -> list[str]:
    """Return the same rows from the table, newest first."""
    db = await asyncpg.connect(database_url)
    rows = await db.fetch(f"SELECT id FROM submission WHERE {where} ORDER BY created_at DESC, id DESC")
    await db.close()
    return [str(row["id"]) for row in rows]


async def test_capped_total_is_marked_as_inexact(crowded: Registry, database_url: str) -> None:
    """G8: every row is still listed, and the counters stay exact."""
    page = await read(crowded, reason="low_score")
    assert (page["total"], page["totalIsExact"]) == (MAX_SCANNED, False)
    assert await every_row(crowded, reason="low_score", limit=500) == await ids(database_url, "true")
    whole = await read(crowded)
    assert (whole["total"], whole["totalIsExact"]) == (MANY, True)
    for state in ("REJECTED", "TIER1_FAILED"):
        found = await read(crowded, state=state)
        assert (found["total"], found["totalIsExact"]) == (len(await ids(database_url, f"state = '{state}'")), True)


async def test_sorting_too_many_rows_is_rejected(crowded: Registry, database_url: str) -> None:
    """Only creation order has an index for every filter; narrowing helps."""
    for sort in ("updatedAt", "skillName", "state", "processingOrder"):
        answer = await crowded.client.get(LIST, params={"reason": "low_score", "sort": sort})
        if sort == "processingOrder":
            assert answer.json()["submissions"] == []  # nothing is active, which is few enough
            continue
        assert (answer.status_code, answer.json()["code"]) == (400, "too_many_to_sort"), sort
        assert "sort: " in answer.json()["detail"]
        few = await read(crowded, reason="low_score", source="api", sort=sort)
        assert (few["total"], few["totalIsExact"]) == (MANY // 500, True)
    assert await every_row(crowded, reason="low_score", sort="createdAt", dir="asc", limit=500) == list(
        reversed(await ids(database_url, "true"))
    )


SPARSE = [
    ({"q": "ab-"}, "skill_name LIKE 'ab-%'"),
    ({"q": "b-n"}, "skill_name LIKE 'ab-%'"),
    ({"q": "b-n", "reason": "low_score"}, "skill_name LIKE 'ab-%'"),
    ({"q": "b-n", "category": "rejected", "source": "bulk"}, "skill_name LIKE 'ab-%'"),
    ({"q": "b-n", "state": "REJECTED", "reason": "low_score"}, "skill_name LIKE 'ab-%' AND state = 'REJECTED'"),
    ({"q": "b-n", "source": "api"}, "false"),
]


async def test_unindexed_filter_finds_every_row_page_by_page(crowded: Registry, database_url: str) -> None:
    """Two-letter words and combinations of broad filters have no index."""
    for given, where in SPARSE:
        wanted = await ids(database_url, where)
        assert await every_row(crowded, **given, limit=500) == wanted, given
        first = await read(crowded, **given)
        assert first["total"] <= len(wanted)
        assert first["total"] == len(wanted) if first["totalIsExact"] else first["nextCursor"] is not None


async def test_indexed_words_find_rows_of_any_age(crowded: Registry, database_url: str) -> None:
    """G60, G61: with an exact total; common words have a capped one."""
    wanted = await ids(database_url, "skill_name LIKE '%needle%'")
    for sort in ("createdAt", "skillName"):
        page = await read(crowded, q="NEEDLE", sort=sort)
        assert {each["id"] for each in page["submissions"]} == set(wanted)
        assert (page["total"], page["totalIsExact"], page["nextCursor"]) == (40, True, None)
    common = await read(crowded, q="acme/tools")
    assert len(common["submissions"]) == 50
    assert common["totalIsExact"] is False
    assert await every_row(crowded, q="tools", limit=500) == await ids(database_url, "true")
    assert await every_row(crowded, repoUrl=f"{crowded.web_url}/acme/tools", limit=500) == await ids(
        database_url, "true"
    )


async def test_page_reads_few_more_rows_than_it_shows(crowded: Registry, database_url: str) -> None:
    """G99: a page of 50 out of 11,200 reads a few hundred rows in any order; broad filters stop at the limit."""
    deep = (await read(crowded, offset=10_000))["nextCursor"]
    rejected = SubmissionFilters(states=STATE_GROUPS[StateGroup.REJECTED])
    queries = {
        **{
            f"by {sort}": QueueQuery(rejected, submission_order(sort))
            for sort in SubmissionSort
            if sort is not SubmissionSort.PROCESSING_ORDER
        },
        **{f"all by {sort}": QueueQuery(order=submission_order(sort)) for sort in SubmissionSort},
        "deep": QueueQuery(cursor=deep),
        "reason": QueueQuery(SubmissionFilters(reason="low_score")),
        "words": QueueQuery(SubmissionFilters(words="needle")),
        "common words": QueueQuery(SubmissionFilters(words="co")),
    }
    async with open_database(database_url, PoolOptions(size=1)) as store:
        for name, query in queries.items():
            before = await rows_read(store)
            async with store.snapshot() as db:
                page = await read_queue(db, query, datetime.now(UTC))
            taken = await rows_read(store) - before
            # Broad filters are counted and scanned, each up to the limit.
            bound = 2 * MAX_SCANNED + 500 if name in ("reason", "common words") else 500
            assert taken <= bound, name
            assert page.submissions or "processing" in name.lower(), name


async def test_offset_beyond_the_limit_is_rejected(crowded: Registry, database_url: str) -> None:
    """G58: the error points to the cursor, which reaches the end."""
    all_of_them = await ids(database_url, "true")
    deepest = await read(crowded, offset=10_000, limit=500)
    assert [each["id"] for each in deepest["submissions"]] == all_of_them[10_000:10_500]
    onward = await read(crowded, cursor=deepest["nextCursor"], limit=500)
    assert [each["id"] for each in onward["submissions"]] == all_of_them[10_500:11_000]
    answer = await crowded.client.get(LIST, params={"offset": 10_001})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_offset")
    assert "cursor" in answer.json()["detail"]


async def test_processing_order_is_scanned_in_bounded_steps(crowded: Registry, database_url: str) -> None:
    """Three of eleven thousand rows are found in order."""
    db = await asyncpg.connect(database_url)
    await db.execute("UPDATE submission SET state = 'RECEIVED', reason_code = NULL")
    await db.execute(
        "INSERT INTO pgqueuer (priority, status, entrypoint, dedupe_key, payload) "
        "SELECT 0, 'queued', 'submission', id || ':1', '' FROM submission ORDER BY created_at"
    )
    scanning = [row["id"] for row in await db.fetch("SELECT id FROM submission ORDER BY created_at DESC LIMIT 3")]
    await db.execute("UPDATE submission SET state = 'TIER1_SCANNING' WHERE id = ANY($1)", scanning)
    await db.execute("UPDATE pgqueuer SET status = 'picked' WHERE dedupe_key = $1", f"{scanning[0]}:1")
    await db.close()
    wanted = [str(scanning[number]) for number in (0, 2, 1)]
    given = {"sort": "processingOrder", "state": "TIER1_SCANNING", "limit": 2}
    assert await every_row(crowded, **given) == wanted
    with statements(crowded.app.store) as made:
        first = await read(crowded, **given)
    assert first["total"] == 3
    assert len(made) < 30
    in_line = await read(crowded, sort="processingOrder", limit=500)
    assert [each["id"] for each in in_line["submissions"]] == [
        wanted[0],
        *reversed((await ids(database_url, "true"))[-499:]),
    ]
    assert list(in_line["queuePositions"].values()) == list(range(1, 500))


async def test_slow_search_is_cancelled_without_affecting_other_reads(registry: Registry, database_url: str) -> None:
    """Its time limit applies to the search only, within the same snapshot."""
    await registry.submit("acme/tools", "needle")
    db = await asyncpg.connect(database_url)
    async with registry.app.store.snapshot() as snapshot:
        usual = (await snapshot.execute(text("SHOW statement_timeout"))).scalar_one()
        found = await find_by_words(snapshot, "needle")
        assert found is not None
        assert found.number == 1
    async with registry.app.store.snapshot() as snapshot, db.transaction():
        await snapshot.execute(text("SELECT 1"))
        await db.execute("LOCK TABLE submission IN ACCESS EXCLUSIVE MODE")
        assert await find_by_words(snapshot, "needle", milliseconds=1) is None
        assert (await snapshot.execute(text("SHOW statement_timeout"))).scalar_one() == usual
        assert (await snapshot.execute(text("SHOW plan_cache_mode"))).scalar_one() == "auto"
    await db.close()
