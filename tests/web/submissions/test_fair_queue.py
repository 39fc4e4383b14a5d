"""One caller's thousands of submissions do not delay another's by more than its share."""

import httpx

from assay.model.submission import SortDirection, SubmissionOrder, SubmissionSort
from assay.serve.queue.queue import QueueQuery
from assay.serve.skills.edge_lists import page_of_submissions
from assay.settings import Settings
from tests.support.edge_copies import bring_level
from tests.support.registry import SECRET, Registry
from tests.support.web.people import OURS, a_browser, a_token, bearer, cookies_of, signed_in

BULK, LIST = "/api/v1/submissions/bulk", "/api/v1/submissions"
JSON = {"accept": "application/json"}


def items(registry: Registry, prefix: str, number: int) -> list[dict[str, str]]:
    url = f"{registry.web_url}/nobody/{prefix}"
    return [
        {"repoUrl": url, "skillName": f"{prefix}-{each}", "skillPath": f"skills/{prefix}-{each}/SKILL.md"}
        for each in range(number)
    ]


async def flood(registry: Registry, client: httpx.AsyncClient, number: int, prefix: str = "flood") -> list[str]:
    """Submit many skills in as few requests as possible; return their ids."""
    wanted, ids = items(registry, prefix, number), []
    for start in range(0, number, 1_000):
        answer = await client.post(BULK, json={"items": wanted[start : start + 1_000]}, headers=JSON)
        assert answer.status_code == 200, answer.text
        ids += [each["id"] for each in answer.json()["results"]]
    return ids


async def submit_one(registry: Registry, client: httpx.AsyncClient, name: str, **headers: str) -> str:
    body = {"repoUrl": f"{registry.web_url}/{name}/tools", "skillName": name}
    answer = await client.post(LIST, json=body, headers=JSON | headers)
    assert answer.status_code == 201, answer.text
    number: str = answer.json()["id"]
    return number


async def position(registry: Registry, submission: str) -> int:
    answer = await registry.client.get(f"{LIST}/positions", params={"ids": submission})
    found: int = answer.json()["positions"][submission]["position"]
    return found


async def test_flood_of_an_address_does_not_delay_an_account(registry: Registry) -> None:
    """G109: once, after 8,000 submissions of one address, a signed-in author was at position 6,270."""
    await flood(registry, registry.client, 8_000)
    author = cookies_of(await signed_in(registry.app))
    async with a_browser(registry.app) as browser:
        browser.cookies.update(author)
        number = await submit_one(registry, browser, "author")
    assert await position(registry, number) <= 3


async def test_flood_of_an_account_does_not_delay_others(registry: Registry) -> None:
    """Also if it uses several tokens. Other addresses, other accounts and the internal key each have their own share."""
    tokens = [await a_token(registry.app, "mallory"), await a_token(registry.app, "mallory")]
    async with a_browser(registry.app) as first, a_browser(registry.app, address=("192.0.2.1", 1)) as other:
        first.headers.update(bearer(tokens[0]))
        await flood(registry, first, 500)
        first.headers.update(bearer(tokens[1]))
        late = await submit_one(registry, first, "late")
        numbers = [
            await submit_one(registry, registry.client, "anonymous"),
            await submit_one(registry, other, "elsewhere"),
            await submit_one(registry, registry.client, "operator", **{"X-Internal-Key": SECRET}),
        ]
    assert await position(registry, late) >= 500
    assert all([await position(registry, number) <= 5 for number in numbers])


async def test_shares_of_addresses_are_those_of_networks(registry: Registry) -> None:
    """All addresses of an IPv6 network take turns as one caller, as do the two forms of an IPv4 address."""
    async with (
        a_browser(registry.app, address=("2001:db8::1", 1)) as one,
        a_browser(registry.app, address=("2001:db8::2", 1)) as same,
        a_browser(registry.app, address=("192.0.2.1", 1)) as four,
        a_browser(registry.app, address=("::ffff:192.0.2.1", 1)) as mapped,
    ):
        await flood(registry, one, 100, "six")
        await flood(registry, four, 100, "four")
        behind = [await submit_one(registry, same, "same"), await submit_one(registry, mapped, "mapped")]
    assert [await position(registry, each) > 190 for each in behind] == [True, True]


async def test_operators_bulk_request_does_not_delay_people(registry: Registry) -> None:
    answer = await registry.client.post(
        "/api/v1/admin/queue/bulk-enqueue",
        json={"items": items(registry, "seed", 1_000)},
        headers={"X-Internal-Key": SECRET},
    )
    assert answer.json()["enqueued"] == 1_000
    number = await submit_one(registry, registry.client, "author")
    assert await position(registry, number) <= 2


async def test_list_in_processing_order_shows_the_turns(registry: Registry) -> None:
    ids = await flood(registry, registry.client, 30)
    async with a_browser(registry.app, address=("192.0.2.1", 1)) as other:
        number = await submit_one(registry, other, "author")
    answer = await registry.client.get(LIST, params={"sort": "processingOrder", "limit": 10})
    listed = [each["id"] for each in answer.json()["submissions"]]
    assert listed[:2] == [ids[0], number]


async def test_edge_copy_has_the_same_order(registry: Registry) -> None:
    """The list that is served while the database is down, after a flood and a job that was moved to the front."""
    ids = await flood(registry, registry.client, 30)
    async with a_browser(registry.app, address=("192.0.2.1", 1)) as other:
        await submit_one(registry, other, "author")
    body = {"ids": [ids[20]], "position": "front"}
    moved = await registry.client.post("/api/v1/admin/queue/order", json=body, headers={"X-Internal-Key": SECRET})
    assert moved.status_code == 200, moved.text
    answer = await registry.client.get(LIST, params={"sort": "processingOrder", "limit": 40})
    await bring_level(registry, registry.app.edge)
    query = QueueQuery(order=SubmissionOrder(SubmissionSort.PROCESSING_ORDER, SortDirection.ASC))
    page, _ = page_of_submissions(await registry.app.copy.submissions(), query)
    assert [str(each.id) for each in page] == [each["id"] for each in answer.json()["submissions"]]


async def test_anonymous_callers_do_not_share_idempotency_keys(registry: Registry, settings: Settings) -> None:
    """A stranger's key `1` made another anonymous caller's request fail."""
    async with a_browser(registry.app, address=("192.0.2.1", 1)) as other:
        for client, name in ((registry.client, "first"), (other, "second")):
            body = {"repoUrl": f"{settings.github_web_url}/acme/tools", "skillName": name}
            answer = await client.post(LIST, json=body, headers={**JSON, **OURS, "Idempotency-Key": "1"})
            assert answer.status_code == 201, answer.text
            again = await client.post(LIST, json=body, headers={**JSON, **OURS, "Idempotency-Key": "1"})
            assert (again.headers["idempotent-replayed"], again.json()["id"]) == ("true", answer.json()["id"])
