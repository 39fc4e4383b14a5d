"""`POST /api/v1/admin/queue/bulk-enqueue`, to the letter."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.support.processes import check_invariants
from tests.support.registry import SECRET, Registry
from tests.support.skills import a_repository

ENQUEUE = "/api/v1/admin/queue/bulk-enqueue"
KEY = {"X-Internal-Key": SECRET}


async def send(registry: Registry, body: Any, **headers: str) -> httpx.Response:
    """The request, with the key."""
    return await registry.client.post(ENQUEUE, json=body, headers=KEY | headers)


def items(registry: Registry, number: int, prefix: str = "skill") -> list[dict[str, str]]:
    """So many skills of a few repositories."""
    return [
        {"repoUrl": f"{registry.web_url}/acme/repo-{index % 7}", "skillName": f"{prefix}-{index}"}
        for index in range(number)
    ]


async def test_a_thousand_are_enqueued_and_then_skipped(registry: Registry) -> None:
    """G19: the limit itself is accepted, the same again is skipped, and each answer adds up."""
    body = {"items": items(registry, 1000)}
    first, again = (await send(registry, body)).json(), (await send(registry, body)).json()
    assert (first["ok"], first["enqueued"], first["skipped"], first["errors"]) == (True, 1000, 0, [])
    assert (again["ok"], again["enqueued"], again["skipped"], again["errors"]) == (True, 0, 1000, [])
    assert (again["existing"], again["invalid"]) == (1000, 0)
    await check_invariants(registry.app.store)


@pytest.mark.parametrize(
    "body",
    [{}, {"items": None}, {"items": "all"}, {"items": {}}, [], {"items": [], "extra": 1}, "no object"],
    ids=str,
)
async def test_a_request_without_a_list_of_items_is_refused(registry: Registry, body: Any) -> None:
    """G19: the request is wrong, not an item."""
    answer = await send(registry, body)
    assert answer.status_code == 400
    assert answer.json()["detail"]


async def test_one_more_than_a_thousand_is_refused(registry: Registry) -> None:
    """G19: nothing of it is enqueued."""
    answer = await send(registry, {"items": items(registry, 1001)})
    assert (answer.status_code, "1000" in answer.json()["detail"]) == (400, True)
    assert (await registry.client.get("/api/v1/submissions/stats")).json()["total"] == 0


async def test_no_items_are_no_mistake(registry: Registry) -> None:
    """A crawler that found nothing says so."""
    answer = await send(registry, {"items": []})
    assert (answer.status_code, answer.json()["enqueued"]) == (200, 0)


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ({"repoUrl": "ftp://bad-url", "skillName": "ok"}, "Invalid repoUrl: ftp://bad-url"),
        ({"repoUrl": "{web}/acme", "skillName": "ok"}, "Invalid repoUrl"),
        ({"repoUrl": "{web}.evil.com/acme/tools", "skillName": "ok"}, "Invalid repoUrl"),
        ({"repoUrl": "x{web}/acme/tools", "skillName": "ok"}, "Invalid repoUrl"),
        ({"repoUrl": "{web}/acme/tools\nx", "skillName": "ok"}, "repoUrl"),
        ({"repoUrl": "{web}/acme/tools", "skillName": "x"}, "skillName"),
        ({"repoUrl": "{web}/acme/tools", "skillName": "x" * 101}, "skillName"),
        ({"repoUrl": "{web}/acme/tools", "skillName": "a/b"}, "skillName"),
        ({"repoUrl": "{web}/acme/tools", "skillName": "a\u202eb"}, "skillName"),
        ({"repoUrl": "{web}/acme/tools"}, "skillName"),
        ({"skillName": "ok"}, "repoUrl"),
        ({"repoUrl": 7, "skillName": "ok"}, "repoUrl"),
        ({"repoUrl": "{web}/acme/tools", "skillName": "ok", "skillPath": "../SKILL.md"}, "skillPath"),
        ({"repoUrl": "{web}/acme/tools", "skillName": "ok", "skillPath": "/SKILL.md"}, "skillPath"),
        ({"repoUrl": "{web}/acme/tools", "skillName": "ok", "skillPath": ".claude/SKILL.md"}, "configuration"),
        ({"repoUrl": "{web}/acme/tools", "skillName": "ok", "priority": 9}, "priority"),
        ("a string", "Invalid item"),
        (None, "Invalid item"),
    ],
    ids=str,
)
async def test_an_item_that_is_wrong_is_an_error_of_its_own(registry: Registry, item: Any, said: str) -> None:
    """G16, G17, G19: it says which item and why, and the others go in."""
    if isinstance(item, dict) and isinstance(item.get("repoUrl"), str):
        item = item | {"repoUrl": item["repoUrl"].replace("{web}", registry.web_url)}
    good = items(registry, 2)
    answer = await send(registry, {"items": [good[0], item, good[1]]})
    assert answer.status_code == 200
    told = answer.json()
    assert (told["enqueued"], told["skipped"], len(told["errors"])) == (2, 0, 1)
    assert said in told["errors"][0]
    assert "item 1" in told["errors"][0]


async def test_names_of_the_shortest_and_longest_kind_and_the_usual_path(registry: Registry) -> None:
    """G17: two and a hundred characters; the path is SKILL.md unless it is given."""
    web = registry.web_url
    wanted = [
        {"repoUrl": f"{web}/acme/tools", "skillName": "ab"},
        {"repoUrl": f"{web}/acme/tools/tree/main/docs", "skillName": "x" * 100, "skillPath": "skills/x/SKILL.md"},
    ]
    assert (await send(registry, {"items": wanted})).json()["enqueued"] == 2
    listed = (await registry.client.get("/api/v1/submissions")).json()["submissions"]
    assert {each["skillPath"] for each in listed} == {"SKILL.md", "skills/x/SKILL.md"}
    assert {each["source"] for each in listed} == {"bulk"}


@pytest.mark.parametrize("headers", [{}, {"X-Internal-Key": "wrong"}, {"X-Internal-Key": ""}])
async def test_nobody_enqueues_without_the_key(registry: Registry, headers: dict[str, str]) -> None:
    """G19, G77."""
    answer = await registry.client.post(ENQUEUE, json={"items": items(registry, 1)}, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert (await registry.client.get("/api/v1/submissions/stats")).json()["total"] == 0


async def test_twenty_clients_with_the_same_thousand(registry: Registry) -> None:
    """G15, G19: each skill gets one submission, and the counts of all answers add up."""
    body = {"items": items(registry, 1000)}
    answers = [answer.json() for answer in await asyncio.gather(*(send(registry, body) for _ in range(20)))]
    assert all(each["enqueued"] + each["skipped"] + len(each["errors"]) == 1000 for each in answers)
    assert sum(each["enqueued"] for each in answers) == 1000
    assert (await registry.client.get("/api/v1/submissions/stats")).json()["byState"]["RECEIVED"] == 1000
    await check_invariants(registry.app.store)


async def test_a_request_that_is_sent_again_gets_the_same_answer(registry: Registry) -> None:
    """G19: with a key of the client's choice, also if both come at once; another request under it is refused."""
    body = {"items": [*items(registry, 5), {"repoUrl": "nonsense", "skillName": "ok"}]}
    key = {"Idempotency-Key": "crawl-1"}
    answers = await asyncio.gather(*(send(registry, body, **key) for _ in range(5)))
    assert {answer.text for answer in answers} == {answers[0].text}
    assert answers[0].json()["enqueued"] == 5
    assert sum("Idempotent-Replayed" in answer.headers for answer in answers) == 4
    other = await send(registry, {"items": items(registry, 1, "other")}, **key)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")
    fresh = await send(registry, body, **{"Idempotency-Key": "crawl-2"})
    assert (fresh.json()["enqueued"], fresh.json()["skipped"]) == (0, 5)


async def test_a_request_that_failed_can_be_sent_again(registry: Registry) -> None:
    """A key is only used up by an answer: what was rolled back is done the next time."""
    key = {"Idempotency-Key": "crawl-1"}
    assert (await send(registry, {"items": items(registry, 1001)}, **key)).status_code == 400
    assert (await send(registry, {"items": items(registry, 1)}, **key)).json()["enqueued"] == 1


async def test_what_was_enqueued_is_worked_off(registry: Registry) -> None:
    """G1: enqueued means that a worker will take it."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf", "csv"))
    wanted = [
        {"repoUrl": f"{registry.web_url}/acme/tools", "skillName": name, "skillPath": f"skills/{name}/SKILL.md"}
        for name in ("pdf", "csv")
    ]
    await send(registry, {"items": wanted})
    await registry.work()
    assert (await registry.client.get("/api/v1/submissions/stats")).json()["published"] == 2
