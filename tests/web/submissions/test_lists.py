"""Lists of submissions match a Python model: every filter, order and way to page."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from typing import Any

import asyncpg
import pytest

from assay.model.submission import ACTIVE, STATE_GROUPS, State, StateGroup, SubmissionFilters
from assay.serve.queue.queue import QueueQuery, read_queue
from assay.serve.submissions.stats import read_stats
from assay.store.submissions.counts import count_all_rows
from tests.support.registry import Registry
from tests.support.web.crowd import ALICE, Crowd, Member, a_crowd, settle
from tests.support.web.people import cookies_of, signed_in

LIST = "/api/v1/submissions"
SORTS = ("createdAt", "updatedAt", "skillName", "state", "processingOrder")
NEWEST_FIRST = ("createdAt", "updatedAt")
WORDS = (
    "pdf",
    "PDF",
    "50%",
    "50% o",
    "a_b",
    "_b c",
    "ai",
    "ail",
    "me/t",
    "ACME",
    "r_s",
    "überS",
    "\\s",
    "t-1",
    "nobody",
)
SOURCES = ("api", "upload", "cli", "bulk")

# Combined filters with several pages, in every order.
PAIRS: list[dict[str, Any]] = [
    {"q": "acme", "limit": 7},
    {"q": "acme", "sort": "state", "limit": 7},
    {"source": "api", "q": "pdf", "sort": "skillName", "limit": 3},
    {"reason": "waiting", "category": "active", "sort": "updatedAt", "limit": 5},
    {"mine": "1", "category": "rejected", "dir": "asc", "limit": 5},
    {"mine": "1", "source": "cli", "sort": "processingOrder", "limit": 2},
]


async def every_page(registry: Registry, given: Mapping[str, Any], cookies: dict[str, str]) -> list[dict[str, Any]]:
    """Return all pages of a list, by cursor."""
    found: list[dict[str, Any]] = []
    cursor = None
    while not found or cursor:
        query = {**given, **({"cursor": cursor} if cursor else {})}
        answer = await registry.client.get(LIST, params=query, headers={"cookie": _cookie(cookies)})
        assert answer.status_code == 200, (query, answer.text)
        found.append(answer.json())
        cursor = found[-1]["nextCursor"]
    return found


def _cookie(cookies: dict[str, str]) -> str:
    return "; ".join(f"{name}={value}" for name, value in cookies.items())


def matches(each: Member, given: Mapping[str, Any], me: str) -> bool:
    """Return whether a submission matches the parameters."""
    words, url = given.get("q", "").lower(), given.get("repoUrl", "").lower().removesuffix(".git")
    return all(
        (
            each.state == given.get("state", each.state),
            "category" not in given or each.state in STATE_GROUPS[StateGroup(given["category"])],
            each.reason == given.get("reason", each.reason),
            url.endswith(each.repository.lower()) or not url,
            words in each.skill_name.lower() or words in each.repository.lower(),
            each.origin == given.get("source", each.origin),
            "mine" not in given or each.submitter == me,
            given.get("sort") != "processingOrder" or each.state in ACTIVE,
        )
    )


def some_parameters(random: Random, web_url: str) -> dict[str, Any]:
    """Return a valid combination of parameters."""
    offered: dict[str, list[Any]] = {
        "reason": ["low_score", "source_not_found", "waiting", "unheard_of"],
        "repoUrl": [f"{web_url}/ACME/tools.git", f"{web_url}/beta/underXscore", f"{web_url}/acme/under_score"],
        "q": list(WORDS),
        "source": list(SOURCES),
        "mine": ["1", "true"],
        "limit": [23, 60, 500],
    }
    chance = {"limit": 1.0, "q": 0.3}
    given = {name: random.choice(values) for name, values in offered.items() if random.random() < chance.get(name, 0.2)}
    if random.random() < 0.9:
        given["sort"] = random.choice(SORTS)
    if given.get("sort") != "processingOrder":
        if random.random() < 0.5:
            given[random.choice(("dir", "sortDir"))] = random.choice(("asc", "desc"))
        if random.random() < 0.3:
            given["state"] = random.choice(list(State)).value
        elif random.random() < 0.4:
            given["category"] = random.choice(list(StateGroup)).value
    elif random.random() < 0.5:
        given |= random.choice([{"state": "RECEIVED"}, {"category": "active"}, {"state": "TIER1_SCANNING"}])
    return given


def expected(crowd: Crowd, given: Mapping[str, Any], me: str) -> list[Member]:
    """Compute the list in Python."""
    sort = given.get("sort", "createdAt")
    direction = given.get("dir") or given.get("sortDir") or ("desc" if sort in NEWEST_FIRST else "asc")
    return crowd.ordered((each for each in crowd.members if matches(each, given, me)), sort, direction == "desc")


@pytest.mark.parametrize(("seed", "number"), [(1, 250), (2, 600)])
async def test_lists_match_the_python_model(registry: Registry, database_url: str, seed: int, number: int) -> None:
    """G58, G59, G60, G61: rows, order, total and positions of 46 combinations, by cursor and by offset."""
    me = await signed_in(registry.app)
    crowd = a_crowd(number, seed)  # words use their index above 500 rows
    mine = str(me.account.id)
    members = [replace(each, submitter=mine) if each.submitter == ALICE else each for each in crowd.members]
    crowd = replace(crowd, members=members)
    await settle(database_url, crowd)
    positions, random = crowd.positions(), Random(seed)
    for given in [*PAIRS, *(some_parameters(random, registry.web_url) for _ in range(40))]:
        wanted = expected(crowd, given, mine)
        pages = await every_page(registry, given, cookies_of(me))
        listed = [each["id"] for page in pages for each in page["submissions"]]
        assert listed == [str(each.id) for each in wanted], given
        assert {(page["total"], page["totalIsExact"]) for page in pages} == {(len(wanted), True)}, given
        assert all(len(page["submissions"]) == given["limit"] for page in pages[:-1]), given
        found = {key: value for page in pages for key, value in page["queuePositions"].items()}
        waiting = [each for each in wanted if each.state is State.RECEIVED and each.key in positions]
        assert found == {str(each.id): positions[each.key] for each in waiting}, given
        start = random.randrange(len(wanted) + 2)
        headers = {"cookie": _cookie(cookies_of(me))}
        answer = await registry.client.get(LIST, params={**given, "offset": start}, headers=headers)
        shown = [each["id"] for each in answer.json()["submissions"]]
        assert shown == [str(each.id) for each in wanted[start : start + given["limit"]]], given


async def test_list_total_and_statistics_agree_under_concurrent_writes(registry: Registry, database_url: str) -> None:
    """G10, G11, G12: in one snapshot."""
    await settle(database_url, a_crowd(120))
    moving = asyncio.create_task(_keep_moving(database_url))
    seen = set()
    for category in [*StateGroup] * 3:
        async with registry.app.store.snapshot() as db:
            query = QueueQuery(SubmissionFilters(states=STATE_GROUPS[category]), limit=500)
            page = await read_queue(db, query, datetime.now(UTC))
            counted = await count_all_rows(db)
            stats = await read_stats(db, datetime.now(UTC))
        assert len(page.submissions) == page.total == stats.by_category[category]
        assert dict(stats.by_state) == dict(counted)
        assert stats.total == sum(counted.values()) == page.stats.total
        seen.add(tuple(counted.values()))
    moving.cancel()
    with suppress(asyncio.CancelledError):
        await moving
    assert len(seen) > 1


async def _keep_moving(database_url: str) -> None:
    """Change states and insert rows continuously."""
    db = await asyncpg.connect(database_url)
    for number in range(100_000):
        state = ("RECEIVED", "TIER1_SCANNING", "AUTO_APPROVED")[number % 3]
        await db.execute(
            "UPDATE submission SET state = $1, updated_at = now() WHERE id = (SELECT id FROM submission OFFSET $2 LIMIT 1)",
            state,
            number % 100,
        )
        await db.execute(
            "INSERT INTO submission (id, repository_id, skill_name, skill_path, state, origin) "
            "SELECT gen_random_uuid(), min(id), 'late', $1, $2, 'api' FROM repository",
            f"late/{number}/SKILL.md",
            state,
        )
        await asyncio.sleep(0)
    await db.close()


@pytest.mark.parametrize("query", [{}, {"sort": "state"}, {"sort": "skillName"}, {"sort": "updatedAt"}, {"q": "acme"}])
async def test_unchanged_rows_appear_on_exactly_one_page(
    registry: Registry, database_url: str, query: dict[str, str]
) -> None:
    """G58: while others are inserted and changed."""
    crowd = a_crowd(90)
    await settle(database_url, crowd)
    db = await asyncpg.connect(database_url)
    touched, seen = set(), []
    cursor, number = None, 0
    while number == 0 or cursor:
        page = (
            await registry.client.get(LIST, params={**query, "limit": 7, **({"cursor": cursor} if cursor else {})})
        ).json()
        seen += [each["id"] for each in page["submissions"]]
        cursor, number = page["nextCursor"], number + 1
        moved = crowd.members[number]
        touched.add(str(moved.id))
        await db.execute(
            "UPDATE submission SET state = 'AUTO_APPROVED', updated_at = now(), skill_name = 'moved' WHERE id = $1",
            moved.id,
        )
        await db.execute(
            "INSERT INTO submission (id, repository_id, skill_name, skill_path, state, origin) "
            "SELECT gen_random_uuid(), min(id), 'zzz', $1, 'RECEIVED', 'api' FROM repository",
            f"late/{number}/SKILL.md",
        )
    await db.close()
    stayed = {str(each.id) for each in crowd.members if matches(each, query, "")} - touched
    assert sorted(each for each in seen if each in stayed) == sorted(stayed)
    if query.get("sort") is None:
        assert len(seen) == len(set(seen))


async def test_cursor_of_another_list_is_rejected(registry: Registry, database_url: str) -> None:
    """It would silently skip rows."""
    await settle(database_url, a_crowd(30))
    first = (await registry.client.get(LIST, params={"limit": 2, "sort": "updatedAt"})).json()
    same = {"limit": 5, "sort": "updatedAt", "cursor": first["nextCursor"]}
    assert (await registry.client.get(LIST, params=same)).status_code == 200
    for other in ({"sort": "createdAt"}, {"dir": "asc"}, {"category": "rejected"}, {"source": "api"}, {"q": "pdf"}):
        answer = await registry.client.get(LIST, params={**same, **other})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_cursor"), other
        assert "belongs to another list" in answer.json()["detail"]
    skills = await registry.client.get("/api/v1/skills", params={"cursor": first["nextCursor"]})
    assert (skills.status_code, skills.json()["code"]) == (400, "bad_cursor")


async def test_repository_filter_accepts_all_names(registry: Registry, database_url: str) -> None:
    """G60: any URL form, former names, and merged repositories."""
    crowd = a_crowd(60)
    await settle(database_url, crowd)
    db = await asyncpg.connect(database_url)
    await db.execute(
        "INSERT INTO repository_alias (host, owner, name, repository_id) SELECT 'github', 'old', 'name', id "
        "FROM repository WHERE name = 'tools'"
    )
    await db.execute(
        "UPDATE repository SET merged_into_id = (SELECT id FROM repository WHERE name = 'tools') WHERE name = 'mail-100'"
    )
    await db.close()
    wanted = {str(each.id) for each in crowd.members if each.repository in ("acme/tools", "beta/mail-100")}
    for form in ("acme/tools", "ACME/Tools.git", "acme/tools/tree/main/skills/pdf", "old/name"):
        answer = await registry.client.get(LIST, params={"repoUrl": f"{registry.web_url}/{form}", "limit": 500})
        assert {each["id"] for each in answer.json()["submissions"]} == wanted, form
        assert answer.json()["total"] == len(wanted)
    for url in (f"{registry.web_url}/acme/tools", f"{registry.web_url}/acme/tools.git"):
        found = (await registry.client.get(LIST, params={"q": url, "limit": 500})).json()["submissions"]
        assert {each["repository"] for each in found} == {"acme/tools"}


async def test_unknown_repository_has_an_empty_list(registry: Registry) -> None:
    await registry.submit("acme/tools", "pdf")
    answer = await registry.client.get(LIST, params={"repoUrl": f"{registry.web_url}/no/body"})
    body = answer.json()
    assert (answer.status_code, body["submissions"], body["total"], body["totalIsExact"]) == (200, [], 0, True)


async def test_own_submissions_require_an_account(registry: Registry) -> None:
    """`mine` without an account is 401."""
    answer = await registry.client.get(LIST, params={"mine": "1"})
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert "mine" in answer.json()["detail"]
    assert (await registry.client.get(LIST, params={"mine": "0"})).status_code == 200
