"""Personal tokens: exchanged for a GitHub token or created by hand, limited to their owner's rights, revocable."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import aiohttp
import httpx
import pytest
from pydantic import SecretStr

from assay.accounts.admins import create_admin, disable_account
from assay.accounts.passwords import hash_password
from assay.accounts.rate_limit import WINDOW_SECONDS
from assay.accounts.sessions import SessionTokens
from assay.accounts.tokens import DEFAULT_DAYS, MAX_DAYS, MAX_TOKENS, USE_SECONDS
from assay.app.app import App
from assay.settings import Settings
from assay.store.operations.audit import list_audit
from tests.support.catalogue import publish
from tests.support.edge_copies import bring_level
from tests.support.fake_github import FakeGitHub
from tests.support.registry import SECRET, Registry, open_registry
from tests.support.web.oauth import CALLBACK, CLIENT_ID, CLIENT_SECRET, calls
from tests.support.web.people import (
    CHEAP,
    OURS,
    PASSWORD,
    MovableTime,
    a_browser,
    a_token,
    an_admin,
    audit_of,
    bearer,
    cookies_of,
    sign_in,
    signed_in,
    with_settings,
)

EXCHANGE, TENANTS, TOKENS = (
    "/api/v1/auth/github/exchange-for-vsk-token",
    "/api/v1/account/tenants",
    "/api/v1/account/tokens",
)
SIGN_OUT_ALL = "/api/v1/auth/sign-out-all"
OTHER_APP = "Iv1.of-somebody-else"
DAY = timedelta(days=1)
PEOPLE = [("alice", 7), ("alice", 7), ("bob", 8)]


@pytest.fixture
async def registry(settings: Settings, github: FakeGitHub, time: MovableTime) -> AsyncIterator[Registry]:
    """Return a registry that is an OAuth app of its GitHub, which has other apps too."""
    github.add_oauth_app(CLIENT_ID, CLIENT_SECRET, CALLBACK)
    github.add_oauth_app(OTHER_APP, "the-secret-of-somebody-else", "https://elsewhere.example/callback")
    set_up = {"oauth_client_id": CLIENT_ID, "oauth_client_secret": SecretStr(CLIENT_SECRET)}
    async with open_registry(settings.model_copy(update=set_up), github, time.clock) as opened:
        yield opened


@pytest.fixture
def app(registry: Registry) -> App:
    return registry.app


async def exchange(client: httpx.AsyncClient, github_token: str, **given: Any) -> httpx.Response:
    """Request a registry token for a GitHub token."""
    return await client.post(EXCHANGE, json={"githubToken": github_token}, **given)


async def make(client: httpx.AsyncClient, person: SessionTokens, **body: Any) -> httpx.Response:
    """Create a token as a signed-in person."""
    client.cookies.update(cookies_of(person))
    answer = await client.post(TOKENS, json={"label": "laptop", **body}, headers=OURS)
    client.cookies.clear()
    return answer


async def status(client: httpx.AsyncClient, token: str, path: str = TENANTS) -> int:
    """Return the status of a request with this token."""
    return (await client.get(path, headers=bearer(token))).status_code


def refusal(answer: httpx.Response) -> tuple[int, str]:
    """Return the status and code of a problem."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["code"]


async def test_vskill_cli_signs_in_and_out(registry: Registry, github: FakeGitHub) -> None:
    """G81, G82: login, whoami, orgs and logout; the tenant it names has no effect."""
    client, sent = registry.client, {"User-Agent": "vskill-cli", "X-Vskill-Tenant": "no-such-tenant"}
    answer = await exchange(client, github.issue_token(CLIENT_ID, 7, "Alice"), headers=sent)
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store"), answer.text
    given = answer.json()
    assert set(given) == {"token", "expiresAt", "scopes", "userId"}
    assert (given["token"][:4], given["scopes"]) == ("vsk_", ["read", "submit", "publish"])
    left = datetime.fromisoformat(given["expiresAt"]) - registry.app.clock.now()
    assert DEFAULT_DAYS * DAY - DAY < left <= DEFAULT_DAYS * DAY
    shown = {**sent, **bearer(given["token"])}
    assert (await client.get(TENANTS, headers=shown)).json() == {
        "tenants": [
            {"tenantId": "7", "id": "7", "slug": "alice", "name": "Alice", "role": "owner", "installationId": None}
        ]
    }
    me = await client.get("/auth/me", headers=shown)
    assert me.json() == {"signedIn": True, "login": "Alice", "role": "USER"}
    assert (await client.delete(SIGN_OUT_ALL, headers=shown)).json() == {"ok": True}
    over = await client.get(TENANTS, headers=shown)
    assert (refusal(over), "Bearer" in over.headers["www-authenticate"]) == ((401, "unauthenticated"), True)
    assert await audit_of(registry.app, "account_created", "token_created", "sign_out_everywhere") == [
        ("Alice", "account_created", "Alice"),
        ("Alice", "token_created", "Alice"),
        ("Alice", "sign_out_everywhere", "Alice"),
    ]
    assert (len(calls(github, "check")), calls(github, "user")) == (1, [])


async def test_token_of_another_github_app_is_rejected(registry: Registry, github: FakeGitHub) -> None:
    """G81: otherwise the operator of another app could impersonate its users."""
    stolen = github.issue_token(OTHER_APP, 7, "Alice")
    revoked = github.issue_token(CLIENT_ID, 7, "Alice")
    github.revoke_token(revoked)
    url, sent = f"{registry.app.settings.github_api_url}/user", {"User-Agent": "test", **bearer(stolen)}
    async with aiohttp.ClientSession() as thief, thief.get(url, headers=sent) as named:
        assert (named.status, (await named.json())["login"]) == (200, "Alice")
    for token in (stolen, revoked, "gho_made-up", "ghp_personal", "vsk_ours", "\N{SNOWMAN}"):
        answer = await exchange(registry.client, token)
        assert refusal(answer) == (401, "github_token_refused"), token
    for body in ({}, {"githubToken": ""}, {"githubToken": "x" * 256}, {"githubToken": 7}, {"github_token": stolen}):
        assert (await registry.client.post(EXCHANGE, json=body)).status_code == 400
    assert await audit_of(registry.app, "account_created", "token_created") == []


async def test_exchange_fails_while_github_is_down(registry: Registry, github: FakeGitHub) -> None:
    """503 on errors, disconnects, malformed responses and a wrong client secret, then recovery."""
    token = github.issue_token(CLIENT_ID, 7, "Alice")
    for make_trouble in (
        lambda: github.fail("check", 500),
        lambda: github.fail("check", 200, body="<html>"),
        lambda: github.fail("check", 403),
        lambda: github.drop_connection("check"),
    ):
        make_trouble()
        answer = await exchange(registry.client, token)
        assert (refusal(answer), "retry-after" in answer.headers) == ((503, "github_unavailable"), True)
    github.fail("check", 200, body='{"user": null}')
    assert refusal(await exchange(registry.client, token)) == (401, "github_token_refused")
    wrong = with_settings(registry.app, oauth_client_secret=SecretStr("not-the-secret"))
    async with a_browser(wrong) as client:
        answer = await exchange(client, token)
        assert refusal(answer) == (503, "oauth_wrong")
        assert "not-the-secret" not in answer.text
    assert (await exchange(registry.client, token)).status_code == 200


async def test_exchange_is_disabled_without_a_github_app(app: App, github: FakeGitHub) -> None:
    """G81: GitHub is not called."""
    token = github.issue_token(CLIENT_ID, 7, "Alice")
    async with a_browser(with_settings(app, oauth_client_id=None, oauth_client_secret=None)) as client:
        assert refusal(await exchange(client, token)) == (404, "oauth_off")
    assert calls(github, "check") == []


async def test_exchange_attempts_are_throttled(app: App, github: FakeGitHub, time: MovableTime) -> None:
    """By address, before GitHub is called, together with password attempts."""
    at_most = app.settings.limit_sign_in_address
    good = github.issue_token(CLIENT_ID, 7, "Alice")
    async with a_browser(app) as client, a_browser(app, address=("192.0.2.7", 1)) as other:
        for each in range(at_most):
            assert (await exchange(client, f"gho_{each}")).status_code == 401
        throttled = await exchange(client, good)
        assert refusal(throttled) == (429, "too_many_attempts")
        assert 0 < int(throttled.headers["retry-after"]) <= WINDOW_SECONDS
        assert (await sign_in(client)).status_code == 429
        assert len(calls(github, "check")) == at_most
        assert (await exchange(other, good)).status_code == 200
        time.pass_by(int(throttled.headers["retry-after"]))
        assert (await exchange(client, good)).status_code == 200


async def test_exchanged_tokens_are_neither_stored_nor_logged(
    registry: Registry, github: FakeGitHub, capsys: pytest.CaptureFixture[str]
) -> None:
    """G84: only a digest of the registry's token is kept."""
    theirs = github.issue_token(CLIENT_ID, 7, "Alice")
    ours = (await exchange(registry.client, theirs)).json()["token"]
    made = (await make(registry.client, await signed_in(registry.app))).json()["token"]
    github.fail("check", 500)
    assert (await exchange(registry.client, theirs)).status_code == 503
    async with registry.app.store.begin() as db:
        await db.exec_driver_sql("ALTER TABLE account_token ADD CONSTRAINT broken CHECK (false) NOT VALID")
    assert (await exchange(registry.client, theirs)).status_code == 500
    assert (await registry.client.get(TOKENS, headers=bearer(ours))).status_code == 500
    logged = "".join(capsys.readouterr())
    assert "Request failed unexpectedly" in logged
    async with registry.app.store.begin() as db:
        tables = (await db.exec_driver_sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).scalars()
        rows = str([(await db.exec_driver_sql(f'SELECT to_jsonb(t) FROM "{name}" t')).all() for name in tables])
    assert [each for each in (theirs, ours, made, ours[4:], made[4:]) if each in logged + rows] == []


@pytest.mark.process
async def test_token_acts_as_its_owner(registry: Registry) -> None:
    """G82: its submissions and listings belong to the owner; no page has to send it."""
    name = await publish(registry, "acme/tools", "Says hello.")
    acme, alice = bearer(await a_token(registry.app, "Acme")), bearer(await a_token(registry.app, "alice"))
    why = {"reason": "It deletes too much."}
    answer = await registry.client.post(f"/api/v1/skills/{name}/unlist", json=why, headers=alice)
    assert refusal(answer) == (403, "not_owner")
    answer = await registry.client.post(
        f"/api/v1/skills/{name}/unlist", json=why, headers={**acme, "sec-fetch-site": "cross-site"}
    )
    assert answer.status_code == 200, answer.text
    assert await audit_of(registry.app, "skill_unlisted") == [("Acme", "skill_unlisted", name)]
    registry.github.add_repository("other/kit", files={"SKILL.md": "---\nname: kit\ndescription: A kit.\n---\n# Kit\n"})
    body = {"repoUrl": f"{registry.web_url}/other/kit", "skillName": "kit"}
    submitted = await registry.client.post("/api/v1/submissions", json=body, headers=alice)
    assert submitted.status_code == 201, submitted.text
    for sent, seen in ((alice, [submitted.json()["id"]]), (acme, [])):
        mine = await registry.client.get("/api/v1/submissions", params={"mine": "1"}, headers=sent)
        assert [each["id"] for each in mine.json()["submissions"]] == seen
    assert refusal(await registry.client.get("/api/v1/admin/audit", headers=alice)) == (403, "forbidden")


async def test_token_loses_rights_with_its_owner(app: App) -> None:
    """G82: a demoted administrator stays demoted until GitHub confirms the login."""
    named = with_settings(app, admin_logins=("warden",))
    token, audit = await a_token(app, "warden", admin=True, github_id=9), "/api/v1/admin/audit"
    async with a_browser(named) as client:
        assert await status(client, token, audit) == 200
    async with a_browser(app) as client:
        assert (await status(client, token, audit), await status(client, token)) == (403, 200)
    async with a_browser(named) as client:
        assert await status(client, token, audit) == 403
        await a_token(app, "warden", admin=True, github_id=9)
        assert await status(client, token, audit) == 200
    assert len(await audit_of(app, "role_changed")) == 3


async def test_disabling_an_account_revokes_its_tokens(app: App, github: FakeGitHub) -> None:
    """Immediately and for good."""
    await an_admin(app)
    async with a_browser(app) as client:
        await sign_in(client)
        body = {"label": "backup", "scopes": ["admin"]}
        made = await client.post(TOKENS, json=body, headers={"accept": "*/*"})
        token = made.json()["token"]
        person = {each.name: each.value or "" for each in client.cookies.jar}
        client.cookies.clear()
        assert await status(client, token, "/api/v1/admin/audit") == 200
        async with app.store.begin() as db:
            await disable_account(db, "root", app.clock.now())
        assert await status(client, token) == 401
        client.cookies.update(person)
        over = await client.post(TOKENS, json={"label": "another"}, headers={"accept": "*/*"})
        assert refusal(over) == (401, "session_over")
        client.cookies.clear()
        async with app.store.begin() as db:
            await create_admin(db, "root", hash_password(PASSWORD, CHEAP))
        assert await status(client, token) == 401
        await a_token(app, "mallory", github_id=66)
        async with app.store.begin() as db:
            await disable_account(db, "mallory", app.clock.now())
        again = await exchange(client, github.issue_token(CLIENT_ID, 66, "mallory"), headers={"accept": "*/*"})
        assert refusal(again) == (403, "account_disabled")


async def test_person_creates_lists_and_revokes_tokens(registry: Registry, time: MovableTime) -> None:
    """The secret is shown once."""
    client, person = registry.client, await signed_in(registry.app)
    made = (await make(client, person, label="  the\n build server ", expiresInDays=7)).json()
    token = made.pop("token")
    assert (made["label"], made["lastUsedAt"]) == ("the build server", None)
    ends = [datetime.fromisoformat(made[key]) for key in ("createdAt", "expiresAt")]
    assert ends[1] - ends[0] == 7 * DAY

    async def last_use() -> datetime:
        answer = await client.get(TOKENS, headers=bearer(token))
        (listed,) = answer.json()["tokens"]
        assert listed == {**made, "lastUsedAt": listed["lastUsedAt"]}
        assert (token in answer.text, answer.headers["cache-control"]) == (False, "no-store")
        return datetime.fromisoformat(listed["lastUsedAt"])

    first = await last_use()
    time.pass_by(USE_SECONDS - 60)
    assert await last_use() == first
    time.pass_by(120)
    assert await last_use() - first > timedelta(seconds=USE_SECONDS)
    for stranger in (await a_token(registry.app, "mallory"), None):
        sent = bearer(stranger) if stranger else {"X-Internal-Key": SECRET}
        assert refusal(await client.delete(f"{TOKENS}/{made['id']}", headers=sent)) == (404, "token_not_found")
        mallorys = (await client.get(TOKENS, headers=sent)).json()["tokens"]
        assert [each["label"] for each in mallorys] == ([None] if stranger else [])
    assert await status(client, token) == 200
    assert (await client.delete(f"{TOKENS}/{made['id']}", headers=bearer(token))).json() == {"ok": True}
    assert await status(client, token) == 401
    async with registry.app.store.begin() as db:
        told = [each for each in await list_audit(db, None, 10) if each.action.startswith("token_")]
    assert [(each.actor, each.action, each.detail["label"]) for each in reversed(told)] == [
        ("alice", "token_created", "the build server"),
        ("mallory", "token_created", None),
        ("alice", "token_revoked", "the build server"),
    ]


async def test_token_expires_on_its_date(registry: Registry, time: MovableTime) -> None:
    """Expired tokens are not listed and free their slot."""
    person = await signed_in(registry.app)
    token = (await make(registry.client, person, expiresInDays=1)).json()["token"]
    time.pass_by(24 * 60 * 60 - 60)
    assert await status(registry.client, token) == 200
    time.pass_by(60)
    assert await status(registry.client, token) == 401
    again = await signed_in(registry.app, github_id=4711)
    assert (await make(registry.client, again)).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {"expiresInDays": 0},
        {"expiresInDays": MAX_DAYS + 1},
        {"expiresInDays": None},
        {"label": ""},
        {"label": " "},
        {"label": "x" * 101},
        {"label": "upside\u202edown"},
        {"label": "null\x00"},
        {"scopes": []},
    ],
)
async def test_invalid_token_request_is_rejected(registry: Registry, body: dict[str, Any]) -> None:
    """No unlimited lifetime, no duplicate name."""
    person = await signed_in(registry.app)
    assert (await make(registry.client, person, **body)).status_code == 400
    assert (await make(registry.client, person, expiresInDays=MAX_DAYS)).status_code == 200


async def test_number_of_tokens_per_person_is_limited(registry: Registry) -> None:
    """Also for concurrent requests."""
    person, other = await signed_in(registry.app), await signed_in(registry.app, "bob")
    sent = {**OURS, "Cookie": f"assay_session={person.access_token}"}
    asked = (registry.client.post(TOKENS, json={"label": str(each)}, headers=sent) for each in range(2 * MAX_TOKENS))
    answers = await asyncio.gather(*asked)
    assert sorted(answer.status_code for answer in answers) == [200] * MAX_TOKENS + [409] * MAX_TOKENS
    assert refusal(await make(registry.client, person)) == (409, "too_many_tokens")
    assert (await make(registry.client, other)).status_code == 200


async def test_repeated_exchange_replaces_the_oldest_exchanged_token(registry: Registry, github: FakeGitHub) -> None:
    """Tokens created by hand are kept."""
    client, person = registry.client, await signed_in(registry.app, "Alice", github_id=7)
    by_hand = (await make(client, person)).json()["token"]
    theirs = github.issue_token(CLIENT_ID, 7, "Alice")
    given = [(await exchange(client, theirs)).json()["token"] for _ in range(MAX_TOKENS + 1)]
    assert [await status(client, token) for token in given] == [401] * 2 + [200] * (MAX_TOKENS - 1)
    assert await status(client, by_hand) == 200
    assert len((await client.get(TOKENS, headers=bearer(by_hand))).json()["tokens"]) == MAX_TOKENS
    await client.delete(SIGN_OUT_ALL, headers=bearer(by_hand))
    person = await signed_in(registry.app, "Alice", github_id=7)
    for _ in range(MAX_TOKENS):
        assert (await make(client, person)).status_code == 200
    assert refusal(await exchange(client, theirs)) == (409, "too_many_tokens")


async def test_token_cannot_create_tokens(registry: Registry) -> None:
    """G82: a stolen token leaves nothing behind when it is revoked."""
    body, stolen = {"label": "for later"}, await a_token(registry.app)
    for sent in (bearer(stolen), {"X-Internal-Key": SECRET}):
        assert refusal(await registry.client.post(TOKENS, json=body, headers=sent)) == (403, "session_needed")
    person = await signed_in(registry.app)
    registry.client.cookies.update(cookies_of(person))
    both = await registry.client.post(TOKENS, json=body, headers={**bearer(stolen), **OURS})
    assert refusal(both) == (403, "session_needed")
    elsewhere = await registry.client.post(TOKENS, json=body, headers={"sec-fetch-site": "cross-site"})
    assert refusal(elsewhere) == (403, "cross_site")


async def test_sign_out_everywhere_revokes_sessions_and_tokens(app: App) -> None:
    """Of this person only; an access token that is still valid cannot create tokens."""
    alice, at_work, bob = [await signed_in(app, login, github_id=number) for login, number in PEOPLE]
    token, bobs = await a_token(app, "alice", github_id=7), await a_token(app, "bob", github_id=8)
    async with a_browser(app) as client:
        client.headers["accept"] = "*/*"
        assert refusal(await client.delete(SIGN_OUT_ALL)) == (401, "unauthenticated")
        keyed = await client.delete(SIGN_OUT_ALL, headers={"X-Internal-Key": SECRET})
        assert refusal(keyed) == (404, "no_account")
        client.cookies.update(cookies_of(alice))
        foreign = await client.delete(SIGN_OUT_ALL, headers={"sec-fetch-site": "cross-site"})
        assert refusal(foreign) == (403, "cross_site")
        assert await status(client, token) == 200
        done = await client.delete(SIGN_OUT_ALL)
        assert (done.json(), "Max-Age=0" in done.headers["set-cookie"]) == ({"ok": True}, True)
        client.cookies.clear()
        assert (await status(client, token), await status(client, bobs)) == (401, 200)
        assert refusal(await make(client, at_work)) == (401, "session_over")
        for person, answered in ((alice, 401), (at_work, 401), (bob, 200)):
            client.cookies.set("assay_refresh", person.refresh_token)
            assert (await client.post("/auth/refresh")).status_code == answered
            client.cookies.clear()


async def test_expired_token_can_read_but_not_write(registry: Registry) -> None:
    """An anonymous write would be lost to its owner; signing in again works."""
    stale = bearer(f"vsk_{'x' * 43}")
    assert (await registry.client.get("/api/v1/skills/search", params={"q": "pdf"}, headers=stale)).status_code == 200
    registry.github.add_repository(
        "acme/tools", files={"SKILL.md": "---\nname: kit\ndescription: A kit.\n---\n# Kit\n"}
    )
    body = {"repoUrl": f"{registry.web_url}/acme/tools", "skillName": "kit"}
    answer = await registry.client.post("/api/v1/submissions", json=body, headers=stale)
    assert (refusal(answer), "unknown, revoked or expired" in answer.json()["detail"]) == (
        (401, "unauthenticated"),
        True,
    )
    token = registry.github.issue_token(CLIENT_ID, 7, "Alice")
    assert (await exchange(registry.client, token, headers=stale)).status_code == 200


async def test_github_token_is_not_accepted_as_a_registry_token(registry: Registry, github: FakeGitHub) -> None:
    """Reads work; writes explain the exchange."""
    sent = bearer(github.issue_token(CLIENT_ID, 7, "Alice"))
    assert (await registry.client.get("/api/v1/skills/search", params={"q": "pdf"}, headers=sent)).status_code == 200
    body = {"skills": [{"name": "pdf", "currentVersion": "1.0.0"}]}
    assert (await registry.client.post("/api/v1/skills/check-updates", json=body, headers=sent)).status_code == 200
    answer = await registry.client.get(TENANTS, headers=sent)
    assert (refusal(answer), EXCHANGE in answer.json()["detail"]) == ((401, "unauthenticated"), True)
    assert list(github.calls) == []


async def test_only_github_accounts_own_github_names(app: App) -> None:
    """A password account with the same login owns nothing there."""
    await an_admin(app, "acme")
    async with a_browser(app) as client:
        await sign_in(client, "acme")
        assert (await client.get(TENANTS)).json() == {"tenants": []}
        client.cookies.clear()
        assert (await client.get(TENANTS, headers={"X-Internal-Key": SECRET})).json() == {"tenants": []}


async def test_token_reads_the_edge_copy_during_an_outage(registry: Registry) -> None:
    """G65, G82: routes without an account work; ownership is unknown rather than denied."""
    token = bearer(await a_token(registry.app))
    registry.client.cookies.update(cookies_of(await signed_in(registry.app, "bob")))
    await bring_level(registry, registry.app.edge)
    registry.app.store.breaker.is_open = True
    for path in ("/api/v1/skills", "/api/v1/submissions"):
        answer = await registry.client.get(path, headers=token)
        assert (answer.status_code, "x-assay-degraded" in answer.headers) == (200, True), answer.text
    for path in ("/api/v1/submissions?mine=1", TENANTS, "/auth/me"):
        assert refusal(await registry.client.get(path, headers=token)) == (503, "database_unavailable")
