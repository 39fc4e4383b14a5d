"""Limits on writes: counted before the work, shared by all processes, and visible to their owner."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from assay.app.app import App
from assay.settings import Settings
from assay.store.operations.expire import delete_expired_records
from assay.web.http.limits import RULES
from tests.support.fake_github import FakeGitHub
from tests.support.registry import SECRET, open_registry
from tests.support.skills import a_repository
from tests.support.web.people import (
    ADDRESS,
    MovableTime,
    a_browser,
    a_token,
    bearer,
    cookies_of,
    signed_in,
    with_settings,
)

SUBMIT, BULK, DISCOVER = (f"/api/v1/submissions{path}" for path in ("", "/bulk", "/discover"))
HEADERS = ("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset")
HOUR = 3_600


@asynccontextmanager
async def a_client(app: App, address: str = ADDRESS[0], **limits: int) -> AsyncIterator[httpx.AsyncClient]:
    """Return a program at an address, of a registry with these limits."""
    async with a_browser(with_settings(app, **limits), address=(address, 1)) as client:
        client.headers["accept"] = "application/json"
        yield client


async def submit(client: httpx.AsyncClient, *names: str, repository: str = "acme/tools") -> httpx.Response:
    """Submit skills of a repository in one request."""
    skills = [{"name": f"skill-{name}", "path": f"skills/{name}/SKILL.md"} for name in names]
    return await client.post(SUBMIT, json={"repoUrl": f"https://github.com/{repository}", "skills": skills})


def left(answer: httpx.Response) -> tuple[int, int]:
    """Return the limit and what is left of it."""
    limit, remaining, reset = (int(answer.headers[name]) for name in HEADERS)
    assert 0 <= reset <= 86_400
    return limit, remaining


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"github_web_url": "https://github.com"})


async def test_limit_is_exact_and_counts_skills(app: App, time: MovableTime) -> None:
    """G108: three skills are allowed, in any number of requests; the fourth is refused, and allowed again after the reset."""
    async with a_client(app, limit_skills_anonymous=3) as client:
        assert left(await submit(client, "a")) == (3, 2)
        assert left(await submit(client, "b", "c")) == (3, 0)
        refused = await submit(client, "d")
        assert (refused.status_code, refused.json()["code"], left(refused)) == (429, "too_many_attempts", (3, 0))
        wait = int(refused.headers["retry-after"])
        assert HOUR - 60 < wait <= HOUR
        assert refused.headers["ratelimit-reset"] == refused.headers["retry-after"]
        time.pass_by(wait - 30)
        assert (await submit(client, "d")).status_code == 429
        time.pass_by(31)
        assert left(await submit(client, "d")) == (3, 2)


async def test_request_over_the_limit_is_refused_whole(app: App) -> None:
    """The message says the limit, what is left and when it resets; what is left can still be used."""
    async with a_client(app, limit_skills_anonymous=5) as client:
        await submit(client, "a", "b", "c")
        items = [{"repoUrl": "https://github.com/acme/more", "skillName": f"skill-{each}"} for each in range(3)]
        refused = await client.post(BULK, json={"items": items})
        assert refused.status_code == 429
        detail = refused.json()["detail"]
        assert "The limit is 5 submitted skills per hour. 2 are left until " in detail
        assert "this request has 3. Callers with an account have a higher limit." in detail
        assert left(refused) == (5, 2)
        assert (await client.post(BULK, json={"items": items[:2]})).json()["created"] == 2
        never = await submit(client, *(f"other-{each}" for each in range(6)))
        assert (never.status_code, "this request has 6. Split it" in never.json()["detail"]) == (429, True)
    async with a_client(app, "192.0.2.1", limit_skills_anonymous=5) as other:
        assert (await submit(other, *"abcdef")).status_code == 429
    async with app.store.begin() as db:
        assert (await db.execute(text("SELECT count(*) FROM submission"))).scalar_one() == 5


async def test_whole_repository_counts_each_skill(app: App, github: FakeGitHub, settings: Settings) -> None:
    """GitHub is not asked once the searches are used up."""
    github.add_repository("acme/tools", files=a_repository("a", "b", "c"))
    body = {"repoUrl": "https://github.com/acme/tools"}
    async with a_client(app, limit_skills_anonymous=4, limit_discover_anonymous=3) as client:
        assert left(await client.post(SUBMIT, json=body)) == (4, 1)
        assert (await client.post(SUBMIT, json=body)).status_code == 429
        assert left(await client.post(DISCOVER, json=body)) == (3, 0)
        asked = github.count()
        for path in (SUBMIT, DISCOVER):
            assert "searched repositories" in (await client.post(path, json=body)).json()["detail"]
        assert github.count() == asked


async def test_failed_requests_count(app: App) -> None:
    """Otherwise work that fails late would be free: a repository that does not exist has cost calls to GitHub."""
    body = {"repoUrl": "https://github.com/nobody/nothing"}
    async with a_client(app, limit_discover_anonymous=2) as client:
        statuses = [(await client.post(DISCOVER, json=body)).status_code for _ in range(3)]
    assert statuses == [404, 404, 429]


async def test_concurrent_requests_cannot_exceed_the_limit(app: App) -> None:
    """G108."""
    async with a_client(app, limit_skills_anonymous=10) as client:
        answers = await asyncio.gather(*(submit(client, f"skill-{each}") for each in range(50)))
    codes = [answer.status_code for answer in answers]
    assert (codes.count(201), codes.count(429)) == (10, 40)


async def test_limits_are_shared_by_processes(app: App, settings: Settings, github: FakeGitHub) -> None:
    """G108."""
    async with (
        open_registry(settings, github) as other,
        a_client(app, limit_skills_anonymous=10) as here,
        a_client(other.app, limit_skills_anonymous=10) as there,
    ):
        answers = await asyncio.gather(
            *(
                submit(client, f"skill-{number}-{each}")
                for each in range(10)
                for number, client in enumerate((here, there))
            )
        )
    assert sorted(answer.status_code for answer in answers) == [201] * 10 + [429] * 10


async def test_callers_have_limits_of_their_own(app: App) -> None:
    """Addresses by network, accounts whatever their address, and not one for all."""
    limits = {"limit_skills_anonymous": 1, "limit_skills": 2}
    alice, bob = cookies_of(await signed_in(app, "alice")), cookies_of(await signed_in(app, "bob"))
    async with a_client(app, "2001:db8::1", **limits) as one, a_client(app, "2001:db8::2", **limits) as same:
        assert [(await submit(each, "a")).status_code for each in (one, same)] == [201, 429]
        for cookies in (alice, bob):
            for client in (one, same):
                client.cookies.update(cookies)
            assert [left(await submit(each, "b")) for each in (one, same)] == [(2, 1), (2, 0)]
            assert (await submit(one, "c")).status_code == 429
    for address in ("2001:db8:0:1::1", "192.0.2.1"):
        async with a_client(app, address, **limits) as other:
            assert (await submit(other, "z")).status_code in (200, 201)
    async with a_client(app, "::ffff:192.0.2.1", **limits) as mapped:
        assert (await submit(mapped, "z")).status_code == 429


async def test_token_cannot_use_up_the_limit_of_its_account(app: App) -> None:
    """One token may use a part; all tokens and sessions together count for the account."""
    limits = {"limit_skills": 10, "limit_token_percent": 60}
    first, second = await a_token(app), await a_token(app)
    async with a_client(app, **limits) as client:
        client.headers.update(bearer(first))
        assert left(await submit(client, *"abcdef")) == (6, 0)
        refused = await submit(client, "g")
        assert (refused.status_code, "This is for one token." in refused.json()["detail"]) == (429, True)
        client.headers.update(bearer(second))
        assert left(await submit(client, *"ghij")) == (10, 0)
        assert (await submit(client, "k")).status_code == 429
    async with a_client(app, limit_skills=10, limit_token_percent=0) as client:
        client.headers.update(bearer(await a_token(app, "bob")))
        assert left(await submit(client, *"abcdefghij")) == (10, 0)


async def test_every_unsafe_request_counts_as_a_write(app: App) -> None:
    """On any route, and before the body is read; reads do not count."""
    async with a_client(app, limit_writes_anonymous=3) as client:
        assert (await client.get("/api/v1/skills")).status_code == 200
        assert left(await client.post("/auth/sign-out", json={})) == (3, 2)
        assert left(await client.post("/api/v1/skills/check-updates", content=b"not JSON")) == (3, 1)
        assert left(await client.post(SUBMIT, json={})) == (3, 0)
        for path in ("/auth/sign-in", SUBMIT):
            assert (await client.post(path, content=b"x")).status_code == 429
        assert "ratelimit-limit" not in (await client.get("/api/v1/skills")).headers


async def test_zero_turns_a_limit_off(app: App) -> None:
    off = {f"limit_{name}{who}": 0 for name in ("writes", "skills", "discover") for who in ("", "_anonymous")}
    async with a_client(app, **off, limit_sign_in=0, limit_sign_in_address=0) as client:
        for each in range(30):
            answer = await submit(client, *(f"skill-{each}-{number}" for number in range(100)))
            assert (answer.status_code, "ratelimit-limit" in answer.headers) == (201, False)
            wrong = await client.post("/auth/sign-in", json={"login": "root", "password": "not the password"})
            assert wrong.status_code == 401
    async with app.store.begin() as db:
        assert (await db.execute(text("SELECT count(*) FROM sign_in_attempt"))).scalar_one() == 0


async def test_internal_key_and_signed_webhooks_are_exempt(app: App) -> None:
    """Scan nodes use the key; a wrong signature counts for its address, because it is recorded."""
    async with a_client(app, limit_writes_anonymous=1, limit_skills_anonymous=1) as client:
        for each in range(3):
            answer = await client.post(
                SUBMIT,
                json={"repoUrl": "https://github.com/acme/tools", "skillName": f"skill-{each}"},
                headers={"X-Internal-Key": SECRET},
            )
            assert (answer.status_code, "ratelimit-limit" in answer.headers) == (201, False)
        wrong = [await client.post("/api/v1/webhooks/scan-results", json={}) for _ in range(2)]
        assert [answer.status_code for answer in wrong] == [401, 429]


async def test_tokens_claims_and_handles_share_a_limit(app: App) -> None:
    person = cookies_of(await signed_in(app))
    async with a_client(app, limit_claims=2) as client:
        client.cookies.update(person)
        answers = [await client.post("/api/v1/account/tokens", json={"label": f"number {each}"}) for each in range(2)]
        answers.append(await client.put("/api/v1/account/handle", json={"handle": "alice"}))
    assert [answer.status_code for answer in answers] == [200, 200, 429]


async def test_uploads_are_limited_before_they_are_read(app: App) -> None:
    async with a_client(app, limit_uploads=1) as client:
        client.headers.update(bearer(await a_token(app)))
        codes = [
            (await client.post("/api/v1/submissions/upload", files={"archive": b"not an archive"})).status_code
            for _ in range(2)
        ]
    assert codes == [400, 429]


async def test_owner_sees_what_is_left(app: App, time: MovableTime) -> None:
    """Reading the limits does not count, and changes nothing."""
    alice = await a_token(app)
    limits = {"limit_skills": 10, "limit_skills_anonymous": 4, "limit_discover": 0, "limit_token_percent": 50}
    async with a_client(app, **limits) as client:
        await submit(client, "a")
        mine = await limits_of(client)
        assert (mine["caller"], set(mine["limits"])) == ("address", {"writes", "skills", "discover"})
        assert mine["limits"]["skills"] | {"resetsAt": None} == {
            "name": "skills",
            "what": "submitted skills",
            "limit": 4,
            "remaining": 3,
            "periodSeconds": HOUR,
            "resetsAt": None,
        }
        resets_at = datetime.fromisoformat(mine["limits"]["skills"]["resetsAt"])
        assert resets_at - time.clock.now() <= timedelta(seconds=HOUR)
        client.headers.update(bearer(alice))
        await submit(client, "b", "c")
        mine = await limits_of(client)
        assert (mine["caller"], set(mine["limits"])) == ("token", set(RULES))
        assert [mine["limits"]["skills"][key] for key in ("limit", "remaining")] == [5, 3]
        assert mine["limits"]["discover"]["limit"] is None
        assert mine == await limits_of(client)
        client.headers.update({"X-Internal-Key": SECRET})
        mine = await limits_of(client)
        assert mine["caller"] == "internal key"
        assert {each["limit"] for each in mine["limits"].values()} == {None}


async def limits_of(client: httpx.AsyncClient) -> dict[str, Any]:
    answer = await client.get("/api/v1/account/limits")
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body | {"limits": {each["name"]: each for each in body["limits"]}}


async def test_addresses_are_not_stored(app: App) -> None:
    """G110: counters have digests as keys, and are deleted when their windows have ended."""
    async with a_client(app, "192.0.2.77") as client:
        await submit(client, "a")
    async with app.store.begin() as db:
        rows = (await db.execute(text("SELECT key FROM sign_in_attempt UNION ALL SELECT key FROM queue_share"))).all()
        assert len(rows) >= 3
        assert all(key.startswith("sha256:") for (key,) in rows)
        await db.execute(text("UPDATE sign_in_attempt SET until = now() - interval '1 second'"))
        await delete_expired_records(db)
        assert (await db.execute(text("SELECT count(*) FROM sign_in_attempt"))).scalar_one() == 0


async def test_limits_are_documented(app: App) -> None:
    """Each route that changes something may respond with 429, except those for signed messages."""
    async with a_client(app) as client:
        paths = (await client.get("/openapi/openapi.json")).json()["paths"]
    undocumented = {
        path
        for path, methods in paths.items()
        for method, operation in methods.items()
        if method not in ("get", "head", "options") and "429" not in operation["responses"]
    }
    assert {path for path in undocumented if "/webhooks/" not in path} == set()
