"""Finding 21: a token does what its scopes and namespaces allow, within the present role of its account."""

from typing import Any

import httpx
import pytest

from assay.accounts.admins import change_role
from assay.accounts.claims import grant_claim
from assay.accounts.sessions import SessionTokens
from assay.app.app import App
from assay.model.account import DEFAULT_SCOPES, Role, Scope
from assay.store.people.accounts import find_accounts
from tests.support.catalogue import publish
from tests.support.registry import SECRET, Registry
from tests.support.web.owners import WHY
from tests.support.web.people import (
    OURS,
    a_browser,
    a_token,
    admin_signed_in,
    audit_of,
    bearer,
    cookies_of,
    made_token,
    signed_in,
    with_role,
)

ACCOUNT, TOKENS, AUDIT = "/api/v1/account", "/api/v1/account/tokens", "/api/v1/admin/audit"
REVIEWS = "/api/v1/admin/reviews"
JSON = {"accept": "application/json"}


async def request_token(app: App, person: SessionTokens, **body: Any) -> httpx.Response:
    async with a_browser(app) as browser:
        browser.cookies.update(cookies_of(person))
        return await browser.post(TOKENS, json={"label": "laptop", **body}, headers=JSON)


async def call(app: App, method: str, path: str, token: str, **given: Any) -> httpx.Response:
    async with a_browser(app) as client:
        return await client.request(method, path, headers={**JSON, **bearer(token)}, **given)


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code")


async def test_token_of_an_administrator_is_not_an_admin_key(app: App) -> None:
    """G82: unless that was asked for."""
    admin = await admin_signed_in(app)
    made = (await request_token(app, admin)).json()
    assert made["scopes"] == ["read", "submit", "publish"]
    refused = await call(app, "GET", AUDIT, made["token"])
    assert refusal(refused) == (403, "insufficient_scope")
    assert refused.headers["www-authenticate"] == 'Bearer error="insufficient_scope", scope="admin"'
    assert refusal(await call(app, "GET", REVIEWS, made["token"])) == (403, "insufficient_scope")
    full = (await request_token(app, admin, scopes=["admin"])).json()["token"]
    assert (await call(app, "GET", AUDIT, full)).status_code == 200
    assert (await call(app, "GET", "/api/v1/skills", full)).status_code == 200


async def test_token_without_a_scope_cannot_write(app: App) -> None:
    """G82: the response names the scope; nothing is recorded, although anonymous callers may submit."""
    reader = await made_token(app, await signed_in(app), [Scope.READ])
    body = {"repoUrl": "https://github.com/acme/tools", "skillName": "pdf"}
    refused = await call(app, "POST", "/api/v1/submissions", reader, json=body)
    assert refusal(refused) == (403, "insufficient_scope")
    assert refused.headers["www-authenticate"] == 'Bearer error="insufficient_scope", scope="submit"'
    assert "submit" in refused.json()["detail"]
    assert (await call(app, "GET", "/api/v1/submissions", reader)).json()["submissions"] == []
    submitter = await made_token(app, await signed_in(app), [Scope.SUBMIT])
    assert (await call(app, "GET", "/api/v1/skills", submitter)).status_code == 200
    assert refusal(await call(app, "GET", ACCOUNT, submitter)) == (403, "insufficient_scope")


@pytest.mark.parametrize(
    ("role", "scopes", "status"),
    [
        (Role.USER, ["moderate"], 403),
        (Role.MEMBER, ["read", "admin"], 403),
        (Role.REVIEWER, ["moderate", "read", "read"], 200),
        (Role.REVIEWER, ["admin"], 403),
    ],
)
async def test_scopes_do_not_exceed_the_role(app: App, role: Role, scopes: list[str], status: int) -> None:
    """G82."""
    answer = await request_token(app, await with_role(app, "judge", role), scopes=scopes)
    assert answer.status_code == status, answer.text
    if status == 200:
        assert answer.json()["scopes"] == ["read", "moderate"]
    else:
        assert answer.json()["code"] == "scope_exceeds_role"
        assert f"your role is {role}" in answer.json()["detail"]


async def test_token_loses_what_its_account_loses(app: App) -> None:
    """G82: the role is read at each use."""
    token = await made_token(app, await with_role(app, "judge", Role.REVIEWER), [Scope.MODERATE])
    assert (await call(app, "GET", REVIEWS, token)).status_code == 200
    async with app.store.begin() as db:
        await change_role(db, "judge", Role.USER, (), "root")
    assert refusal(await call(app, "GET", REVIEWS, token)) == (403, "forbidden")
    async with app.store.begin() as db:
        await change_role(db, "judge", Role.REVIEWER, (), "root")
    assert (await call(app, "GET", REVIEWS, token)).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {"scopes": []},
        {"scopes": ["write"]},
        {"scopes": "read"},
        {"scopes": ["read"] * 6},
        {"namespaces": []},
        {"namespaces": [""]},
        {"namespaces": ["alice\x00"]},
        {"namespaces": ["alice"] * 51},
    ],
)
async def test_invalid_limits_are_rejected(app: App, body: dict[str, Any]) -> None:
    assert (await request_token(app, await signed_in(app), **body)).status_code == 400


@pytest.mark.process
async def test_token_limited_to_namespaces(registry: Registry) -> None:
    """G82: it changes listings of those only, although its account owns others."""
    app, name = registry.app, await publish(registry, "acme/tools", "Says hello.")
    owner = await signed_in(app, "acme")
    async with app.store.begin() as db:
        (account,) = await find_accounts(db, "acme")
        await signed_in(app, "partner")
        await grant_claim(db, "partner", None, account, "For a test.", by="root", now=app.clock.now())
    foreign = await request_token(app, owner, namespaces=["ACME", "stranger"])
    assert refusal(foreign) == (403, "not_owner")
    assert "you do not own stranger" in foreign.json()["detail"]
    other, own = (
        (await request_token(app, owner, namespaces=["Partner"])).json(),
        (await request_token(app, owner, namespaces=["ACME"])).json(),
    )
    assert (other["namespaces"], own["namespaces"]) == (["partner"], ["acme"])
    path = f"/api/v1/skills/{name}/versions/1.0.0/deprecate"
    assert (await call(app, "POST", path, other["token"], json=WHY)).status_code == 403
    assert (await call(app, "POST", path, own["token"], json=WHY)).status_code == 200
    seen = (await call(app, "GET", ACCOUNT, other["token"])).json()
    assert seen["namespaces"] == [{"name": "partner", "kind": "github"}]
    assert seen["token"]["namespaces"] == ["partner"]


async def test_account_of_each_caller(app: App) -> None:
    """Used by `assay whoami`."""
    person = await signed_in(app, "Alice", github_id=7)
    token = await made_token(app, person, [Scope.READ])
    namespaces = [{"name": "alice", "kind": "github"}]
    plain = {"login": "Alice", "handle": "alice", "role": "USER", "namespaces": namespaces}
    with_token = (await call(app, "GET", ACCOUNT, token)).json()
    assert {key: with_token[key] for key in plain} == plain
    assert with_token["token"]["scopes"] == ["read"]
    assert {"id", "label", "scopes", "namespaces", "expiresAt"} <= set(with_token["token"])
    assert token not in str(with_token)
    async with a_browser(app) as browser:
        browser.headers.update(JSON)
        assert refusal(await browser.get(ACCOUNT)) == (401, "unauthenticated")
        key = await browser.get(ACCOUNT, headers={"X-Internal-Key": SECRET})
        assert key.json() == {
            "login": "internal key",
            "handle": "local",
            "role": "SUPER_ADMIN",
            "namespaces": [{"name": "local", "kind": "operator"}],
            "token": None,
        }
        browser.cookies.update(cookies_of(person))
        assert (await browser.get(ACCOUNT)).json() == {**plain, "token": None}


@pytest.mark.parametrize("scope", [Scope.READ, Scope.SUBMIT, Scope.PUBLISH])
async def test_token_of_any_scope_revokes_itself(app: App, scope: Scope) -> None:
    """Used by `assay logout`; other tokens need the scope `publish`."""
    person = await signed_in(app)
    token, other = await made_token(app, person, [scope]), await made_token(app, person)
    path = f"{TOKENS}/{(await call(app, 'GET', ACCOUNT, other)).json()['token']['id']}"
    if scope is not Scope.PUBLISH:
        assert refusal(await call(app, "DELETE", path, token)) == (403, "insufficient_scope")
    assert (await call(app, "DELETE", f"{TOKENS}/current", token)).json() == {"ok": True}
    assert (await call(app, "DELETE", f"{TOKENS}/current", token)).status_code == 401
    assert (await call(app, "GET", ACCOUNT, other)).status_code == 200
    assert len(await audit_of(app, "token_revoked")) == 1


async def test_only_a_token_can_be_the_current_one(app: App) -> None:
    async with a_browser(app) as browser:
        browser.headers.update(JSON)
        browser.cookies.update(cookies_of(await signed_in(app)))
        for sent in (OURS, {"X-Internal-Key": SECRET}):
            answer = await browser.delete(f"{TOKENS}/current", headers=sent)
            assert refusal(answer) == (404, "token_not_found")


async def test_exchanged_token_has_the_default_scopes(app: App) -> None:
    token = await a_token(app)
    (listed,) = (await call(app, "GET", TOKENS, token)).json()["tokens"]
    assert (set(listed["scopes"]), listed["namespaces"]) == (DEFAULT_SCOPES, None)
