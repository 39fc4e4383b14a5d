"""`POST /api/v1/admin/queue/bulk-enqueue`: the exact contract."""

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
    """Send the request with the internal key."""
    return await registry.client.post(ENQUEUE, json=body, headers=KEY | headers)


def items(registry: Registry, number: int, prefix: str = "skill") -> list[dict[str, str]]:
    """Return items of a few repositories."""
    return [
        {"repoUrl": f"{registry.web_url}/acme/repo-{index % 7}", "skillName": f"{prefix}-{index}"}
        for index in range(number)
    ]


async def test_thousand_items_are_enqueued_then_skipped(registry: Registry) -> None:
    """G19: the counts of each response add up."""
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
async def test_request_without_items_is_rejected(registry: Registry, body: Any) -> None:
    """G19."""
    answer = await send(registry, body)
    assert answer.status_code == 400
    assert answer.json()["detail"]


async def test_more_than_a_thousand_items_are_rejected(registry: Registry) -> None:
    """G19: nothing is enqueued."""
    answer = await send(registry, {"items": items(registry, 1001)})
    assert (answer.status_code, "1000" in answer.json()["detail"]) == (400, True)
    assert (await registry.client.get("/api/v1/submissions/stats")).json()["total"] == 0


async def test_empty_list_is_accepted(registry: Registry) -> None:
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
async def test_invalid_item_is_reported_individually(registry: Registry, item: Any, said: str) -> None:
    """G16, G17, G19: with its index and reason; the others are enqueued."""
    if isinstance(item, dict) and isinstance(item.get("repoUrl"), str):
        item = item | {"repoUrl": item["repoUrl"].replace("{web}", registry.web_url)}
    good = items(registry, 2)
    answer = await send(registry, {"items": [good[0], item, good[1]]})
    assert answer.status_code == 200
    told = answer.json()
    assert (told["enqueued"], told["skipped"], len(told["errors"])) == (2, 0, 1)
    assert said in told["errors"][0]
    assert "item 1" in told["errors"][0]


async def test_limits_of_names_and_default_path(registry: Registry) -> None:
    """G17: two to a hundred characters; the path defaults to SKILL.md."""
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
async def test_bulk_enqueue_requires_the_internal_key(registry: Registry, headers: dict[str, str]) -> None:
    """G19, G77."""
    answer = await registry.client.post(ENQUEUE, json={"items": items(registry, 1)}, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert (await registry.client.get("/api/v1/submissions/stats")).json()["total"] == 0


async def test_twenty_clients_enqueue_the_same_thousand(registry: Registry) -> None:
    """G15, G19: each skill gets one submission, and the counts of all responses add up."""
    body = {"items": items(registry, 1000)}
    answers = [answer.json() for answer in await asyncio.gather(*(send(registry, body) for _ in range(20)))]
    assert all(each["enqueued"] + each["skipped"] + len(each["errors"]) == 1000 for each in answers)
    assert sum(each["enqueued"] for each in answers) == 1000
    assert (await registry.client.get("/api/v1/submissions/stats")).json()["byState"]["RECEIVED"] == 1000
    await check_invariants(registry.app.store)


async def test_idempotency_key_returns_the_first_response(registry: Registry) -> None:
    """G19: also concurrently; a different request with the same key is rejected."""
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


async def test_failed_request_can_be_repeated_with_its_key(registry: Registry) -> None:
    """Only a response uses up the key."""
    key = {"Idempotency-Key": "crawl-1"}
    assert (await send(registry, {"items": items(registry, 1001)}, **key)).status_code == 400
    assert (await send(registry, {"items": items(registry, 1)}, **key)).json()["enqueued"] == 1


@pytest.mark.process
async def test_enqueued_items_are_processed(registry: Registry) -> None:
    """G1."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf", "csv"))
    wanted = [
        {"repoUrl": f"{registry.web_url}/acme/tools", "skillName": name, "skillPath": f"skills/{name}/SKILL.md"}
        for name in ("pdf", "csv")
    ]
    await send(registry, {"items": wanted})
    await registry.work()
    assert (await registry.client.get("/api/v1/submissions/stats")).json()["published"] == 2
