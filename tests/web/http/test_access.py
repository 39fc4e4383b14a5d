"""Access control: every route and every kind of caller, one guard, deny by default."""

import hmac
import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import jwt
import pytest
from litestar import Litestar, get, post
from litestar.routes import HTTPRoute
from sqlalchemy import text

from assay.accounts.sessions import ACCESS_SECONDS
from assay.accounts.signed_claims import ClaimsPurpose, ClaimsSigner
from assay.accounts.tokens import DEFAULT_DAYS
from assay.app.app import App, open_claims_signer
from assay.model.account import Role
from assay.model.clock import Clock
from assay.model.source import digest_of
from assay.settings import Settings
from assay.web.app import build_routes, create_app
from assay.web.http.access import ACCOUNT, ADMIN, PUBLIC, REVIEWER, UNIDENTIFIED, Access, check_routes
from assay.web.http.degraded import degraded
from assay.web.openapi import render_openapi
from tests.support.registry import SECRET, Registry
from tests.support.web.people import (
    OURS,
    a_browser,
    a_token,
    admin_signed_in,
    bearer,
    cookies_of,
    signed_in,
    with_settings,
)

OTHER_SECRET = "another-secret-that-is-long-enough-too"
ADMIN_LOGIN = "warden"
END_SESSIONS = """
    UPDATE account_session SET revoked_at = now() FROM account
    WHERE account.id = account_session.account_id AND login = 'former'
"""
REVOKE = text("UPDATE account_token SET revoked_at = now() WHERE token_digest = :digest")
PREVIOUS_KEY = "the-key-before-which-is-long-enough-as-well"
CLOSED = ("/admin", "/api/v1/admin", "/api/v1/internal")
MODERATED = (
    *(f"/api/v1/admin/{noun}" for noun in ("reviews", "suppressions", "reports", "blocklist")),
    "/admin/reviews",
    "/admin/reports",
)
# These never were credentials: they are ignored, or refused where credentials are needed.
NOBODY = {
    "anonymous",
    "tampered",
    "alg none",
    "signed with another secret",
    "for another purpose",
    "of another issuer",
    "from the future",
    "without an end",
    "nonsense",
    "token of GitHub",
    "key as a token",
}
# Credentials of this registry that are not valid: they can read what is public, and write nothing.
STALE = {
    "wrong key",
    "empty key",
    "wrong key of an admin",
    "expired",
    "signed out",
    "unknown token",
    "token without its end",
    "expired token",
    "revoked token",
    "token of a disabled account",
    "revoked token and a cookie",
}
USERS = {"user", "token", "token and the cookie of an admin"}
ADMINS = {
    "current key",
    "previous key",
    "super admin",
    "key and a cross-site page",
    "token of an admin",
    "token and a cross-site page",
    "key and a revoked token",
}
TOKENS_AND_KEYS = (USERS | ADMINS) - {"super admin", "user"}
CODES = {"expired": "session_lapsed", "signed out": "session_over"}
# Every public route that writes must be listed here.
OPEN_TO_WRITE = {
    ("POST", "/api/v1/auth/github/exchange-for-vsk-token"),
    ("POST", "/api/v1/skills/check-updates"),
    ("POST", "/api/v1/skills/installs"),
    ("POST", "/api/v1/skills/{owner:str}/{repo:str}/{skill:str}/installs"),
    ("POST", "/api/v1/skills/{owner:str}/{repo:str}/{skill:str}/reports"),
    ("POST", "/api/v1/submissions"),
    ("POST", "/api/v1/submissions/bulk"),
    ("POST", "/api/v1/submissions/discover"),
    ("POST", "/api/v1/webhooks/github"),
    ("POST", "/auth/refresh"),
    ("POST", "/auth/sign-in"),
    ("POST", "/auth/sign-out"),
    ("POST", "/sign-in"),
    ("POST", "/skills/{owner:str}/{repo:str}/{skill:str}/reports"),
    ("POST", "/api/v1/webhooks/scan-results"),
}
# Anyone may call this route, but unsigned requests are rejected.
SIGNED = "/api/v1/webhooks/scan-results"


def all_routes(app: Litestar) -> Iterator[tuple[str, str, Any]]:
    """Return method, path and handler of every registered route, without the framework's OPTIONS handlers."""
    for route in app.routes:
        assert isinstance(route, HTTPRoute)
        for handler in route.route_handlers:
            yield from ((method, route.path, handler) for method in handler.http_methods if method != "OPTIONS")


def expected_access(path: str, handler: Any) -> Access:
    """Derive the expected access level independently: closed by path, otherwise as declared, otherwise admin."""
    if any(f"{path}/".startswith(f"{prefix}/") for prefix in MODERATED):
        return Access.REVIEWER
    if any(f"{path}/".startswith(f"{prefix}/") for prefix in CLOSED):
        return Access.ADMIN
    return handler.opt.get("access", Access.ADMIN)


def filled(app: Litestar, path: str) -> str:
    """Return a path that the route matches."""
    route = next(route for route in app.routes if route.path == path)
    parts = [each if isinstance(each, str) else "1" if each.type is int else "0" * 32 for each in route.path_components]
    return "/" + "/".join(parts)


async def everybody(app: App) -> dict[str, dict[str, Any]]:
    """Return every kind of caller with the credentials it sends."""
    now, signer = app.clock.now(), open_claims_signer(app.settings)
    user, admin = await signed_in(app, "alice"), await admin_signed_in(app)
    claims = jwt.decode(admin.access_token, options={"verify_signature": False})
    head, _, signature = user.access_token.split(".")
    _, payload, _ = admin.access_token.split(".")
    over = signer.sign(ClaimsPurpose.SESSION, claims, now - timedelta(seconds=ACCESS_SECONDS), ACCESS_SECONDS)
    signed_out = await admin_signed_in(app, "former")
    async with app.store.begin() as db:
        await db.exec_driver_sql(END_SESSIONS)
    tokens = {
        "user": user.access_token,
        "super admin": admin.access_token,
        "expired": over,
        "signed out": signed_out.access_token,
        "tampered": f"{head}.{payload}.{signature}",
        "alg none": jwt.encode(claims, "", algorithm="none"),
        "signed with another secret": ClaimsSigner(OTHER_SECRET).sign(
            ClaimsPurpose.SESSION, claims, now, ACCESS_SECONDS
        ),
        "for another purpose": signer.sign(ClaimsPurpose.GITHUB, claims, now, ACCESS_SECONDS),
        "of another issuer": jwt.encode({**claims, "iss": "somebody"}, SECRET, algorithm="HS256"),
        "from the future": signer.sign(ClaimsPurpose.SESSION, claims, now + timedelta(days=1), ACCESS_SECONDS),
        "without an end": jwt.encode({k: v for k, v in claims.items() if k != "exp"}, SECRET, algorithm="HS256"),
        "nonsense": "a.b.c",
    }
    good, revoked, admins = await a_token(app), await a_token(app), await a_token(app, ADMIN_LOGIN, admin=True)
    disabled, late = await a_token(app, "mallory"), now - timedelta(days=DEFAULT_DAYS)
    expired = await a_token(replace(app, clock=Clock(lambda: late)), "slow")
    async with app.store.begin() as db:
        await db.exec_driver_sql("UPDATE account SET disabled_at = now() WHERE login = 'mallory'")
        await db.execute(REVOKE, {"digest": digest_of(revoked.encode())})
    shown = {
        "token": good,
        "token of an admin": admins,
        "unknown token": f"vsk_{'x' * 43}",
        "token without its end": good[:-1],
        "expired token": expired,
        "revoked token": revoked,
        "token of a disabled account": disabled,
        "token of GitHub": f"gho_{'x' * 36}",
        "key as a token": SECRET,
    }
    keys = {"wrong key": OTHER_SECRET, "empty key": "", "current key": SECRET, "previous key": PREVIOUS_KEY}
    return {
        "anonymous": {},
        **{name: {"headers": {"X-Internal-Key": key}} for name, key in keys.items()},
        **{name: {"headers": OURS, "cookies": {"assay_session": token}} for name, token in tokens.items()},
        "wrong key of an admin": {"headers": {"X-Internal-Key": OTHER_SECRET, **OURS}, "cookies": cookies_of(admin)},
        "key and a cross-site page": {
            "headers": {"X-Internal-Key": SECRET, "sec-fetch-site": "cross-site"},
            "cookies": cookies_of(admin),
        },
        **{name: {"headers": bearer(token)} for name, token in shown.items()},
        "token and a cross-site page": {
            "headers": {**bearer(admins), "sec-fetch-site": "cross-site"},
            "cookies": cookies_of(user),
        },
        "token and the cookie of an admin": {"headers": {**bearer(good), **OURS}, "cookies": cookies_of(admin)},
        "revoked token and a cookie": {"headers": {**bearer(revoked), **OURS}, "cookies": cookies_of(admin)},
        "key and a revoked token": {"headers": {**bearer(revoked), "X-Internal-Key": SECRET}},
    }


@pytest.fixture
async def app(registry: Registry) -> AsyncIterator[App]:
    """Return a registry during key rotation, with an administrator from GitHub."""
    previous = Settings.from_mapping({"ASSAY_INTERNAL_KEY_PREVIOUS": PREVIOUS_KEY}).internal_key_previous
    yield with_settings(registry.app, internal_key_previous=previous, admin_logins=(ADMIN_LOGIN,))


def writes(method: str, handler: Any) -> bool:
    """Return whether the route acts on behalf of the caller; signing in does not."""
    return method not in ("GET", "HEAD") and not handler.opt.get("is_unidentified")


async def decision(client: httpx.AsyncClient, method: str, path: str, sent: dict[str, Any]) -> Any:
    """Return the guard's decision; an invalid parameter stops the request before the handler runs."""
    request = client.build_request(method, path, params={"walk": "1"}, **{"headers": {}, **sent})
    answer = await client.send(request)
    if method == "HEAD":
        return {400: "unknown_parameter", 401: "unauthenticated", 403: "forbidden"}.get(answer.status_code)
    return answer.json()["code"]


async def test_every_route_for_every_caller(app: App) -> None:
    """G77: protected routes reject everyone else, whatever they send; a personal token equals a session cookie and
    needs no cross-site check.
    """
    routes = build_routes()
    served = create_app(app, routes=routes)
    callers = await everybody(app)
    assert set(callers) == NOBODY | STALE | USERS | ADMINS
    allowed = {
        Access.PUBLIC: set(callers),
        Access.ACCOUNT: USERS | ADMINS,
        Access.REVIEWER: ADMINS,
        Access.ADMIN: ADMINS,
    }
    wrong, seen = [], set()
    transport = httpx.ASGITransport(served, raise_app_exceptions=False)
    for name, sent in callers.items():
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", cookies=sent.pop("cookies", None)
        ) as client:
            for method, path, handler in all_routes(routes):
                access = expected_access(path, handler)
                refusal = "forbidden" if name in USERS else CODES.get(name, "unauthenticated")
                right = "unknown_parameter" if name in allowed[access] else refusal
                right = CODES.get(name, "unauthenticated") if name in STALE and writes(method, handler) else right
                right = "session_needed" if handler.opt.get("needs_session") and name in TOKENS_AND_KEYS else right
                right = "unsigned" if path == SIGNED else right
                decided = await decision(client, method, filled(routes, path), sent)
                seen.add(access)
                if decided != right:
                    wrong.append((name, method, path, decided, right))
    assert wrong == []
    assert seen == set(Access)


def test_only_listed_routes_accept_anonymous_writes() -> None:
    """G77: a new route that writes is admin-only, or must be added to this file."""
    open_ones = {
        (method, path)
        for method, path, handler in all_routes(build_routes())
        if method not in ("GET", "HEAD") and expected_access(path, handler) is Access.PUBLIC
    }
    assert open_ones == OPEN_TO_WRITE


async def test_route_without_access_level_is_admin_only(app: App) -> None:
    """G77."""

    @get("/forgotten")
    async def forgotten() -> str:
        return "secret"

    @get("/mine", opt=ACCOUNT)
    async def mine() -> str:
        return "private"

    routes = build_routes()
    routes.register(forgotten)
    routes.register(mine)
    served = create_app(app, routes=routes)
    user, admin = await signed_in(app), await admin_signed_in(app)
    for path, person, status in [
        ("/forgotten", None, 401),
        ("/forgotten", user, 403),
        ("/forgotten", admin, 200),
        ("/mine", None, 401),
        ("/mine", user, 200),
        ("/mine", admin, 200),
    ]:
        transport = httpx.ASGITransport(served, raise_app_exceptions=False)
        cookies = cookies_of(person) if person else None
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", cookies=cookies) as client:
            answer = await client.get(path)
        assert (path, answer.status_code) == (path, status)
        if status == 401:
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["code"] == "unauthenticated"
            assert "www-authenticate" in answer.headers


@pytest.mark.parametrize("path", [*CLOSED, *(f"{prefix}/something/{{number:int}}" for prefix in CLOSED)])
@pytest.mark.parametrize("declared", [PUBLIC, ACCOUNT])
def test_public_route_below_an_admin_path_prevents_startup(path: str, declared: dict[str, Any]) -> None:
    """G77."""

    @post(path, opt=declared)
    async def careless() -> None: ...

    served = build_routes()
    served.register(careless)
    with pytest.raises(PermissionError, match=r"must be for administrators.* only"):
        check_routes(served)


def test_openapi_documents_the_access_of_each_route() -> None:
    """G63: credentials, and the scope of tokens."""
    paths = json.loads(render_openapi())["paths"]
    undocumented = []
    for method, path, handler in all_routes(build_routes()):
        documented = paths.get(re.sub(r":\w+}", "}", path), {}).get(method.lower())
        is_open = expected_access(path, handler) is Access.PUBLIC
        if documented is not None and bool(documented.get("security")) is is_open:
            undocumented.append((method, path))
    assert undocumented == []

    def schemes(path: str, method: str = "get") -> dict[str, list[str]]:
        return {name: scopes for each in paths[path][method]["security"] for name, scopes in each.items()}

    assert schemes("/api/v1/admin/audit") == {"internalKey": [], "session": [], "token": ["admin"]}
    assert schemes("/api/v1/admin/reviews") == {"internalKey": [], "session": [], "token": ["moderate"]}
    assert schemes("/api/v1/account/tokens", "post") == {"session": []}
    assert schemes("/api/v1/account/tokens")["token"] == ["read"]
    assert schemes("/api/v1/submissions/upload", "post")["token"] == ["publish"]
    assert {"401", "403"} <= paths["/api/v1/submissions"]["post"]["responses"].keys()


@pytest.mark.parametrize("declared", [PUBLIC, ACCOUNT])
def test_write_without_a_scope_prevents_startup(declared: dict[str, Any]) -> None:
    """G77: a new route cannot be open to tokens of every scope by mistake."""

    @post("/careless", opt=declared)
    async def careless() -> None: ...

    served = build_routes()
    served.register(careless)
    with pytest.raises(PermissionError, match="must declare the scope"):
        check_routes(served)


@pytest.mark.parametrize("declared", [ACCOUNT, REVIEWER, ADMIN])
def test_degraded_answer_of_a_protected_route_prevents_startup(declared: dict[str, Any]) -> None:
    """G77: it would be given without a check while the database is down."""

    async def answer(_request: Any) -> Any: ...

    @get("/careless", opt=declared | degraded(answer))
    async def careless() -> None: ...

    served = build_routes()
    served.register(careless)
    with pytest.raises(PermissionError, match="degraded answer"):
        check_routes(served)


async def test_only_public_routes_can_ignore_credentials(app: App) -> None:
    """G77: declarations of a router and its handler are merged."""

    @get("/mixed", opt=UNIDENTIFIED | ADMIN)
    async def mixed() -> str:
        return "secret"

    routes = build_routes()
    routes.register(mixed)
    async with a_browser(create_app(app, routes=routes)) as client:
        assert (await client.get("/mixed", headers={"accept": "*/*"})).status_code == 401


def test_reviewers_have_routes_below_admin_paths_only() -> None:
    """G77: the routes of scan nodes are for administrators."""

    @get(["/admin/moderated", "/api/v1/admin/moderated"], opt=REVIEWER)
    async def moderated() -> None: ...

    @get("/api/v1/internal/moderated", opt=REVIEWER)
    async def internal() -> None: ...

    served = build_routes()
    served.register(moderated)
    check_routes(served)
    served.register(internal)
    with pytest.raises(PermissionError, match="must be for administrators only"):
        check_routes(served)


def test_paths_that_only_resemble_admin_paths_stay_open() -> None:
    """The rule matches whole path segments."""

    @get("/administration", opt=PUBLIC)
    async def about() -> None: ...

    served = build_routes()
    served.register(about)
    check_routes(served)


async def test_internal_keys_are_compared_in_constant_time(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """G78: the response time reveals neither a matching prefix nor which key matched."""
    compared: list[tuple[int, int]] = []
    compare = hmac.compare_digest

    def counting(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return compare(one, other)

    monkeypatch.setattr(hmac, "compare_digest", counting)
    for previous in ("", PREVIOUS_KEY):
        key = Settings.from_mapping({"ASSAY_INTERNAL_KEY_PREVIOUS": previous}).internal_key_previous
        async with a_browser(with_settings(registry.app, internal_key_previous=key)) as client:
            for given in (SECRET, PREVIOUS_KEY, OTHER_SECRET, "short", "ungültig"):
                compared.clear()
                answer = await client.get("/api/v1/admin/audit", headers={"X-Internal-Key": given.encode()})
                assert compared == [(32, 32), (32, 32)]
                assert answer.status_code == (200 if given in (SECRET, previous) else 401)


async def test_empty_internal_key_matches_nothing(registry: Registry) -> None:
    """G78."""
    app = with_settings(registry.app, internal_key=None)
    async with a_browser(app) as client:
        for key in ("", "None", SECRET):
            assert (await client.get("/api/v1/admin/audit", headers={"X-Internal-Key": key})).status_code == 401


SITES = [
    ({"sec-fetch-site": "same-origin"}, True),
    ({"sec-fetch-site": "none"}, True),
    ({"sec-fetch-site": "same-site"}, False),
    ({"sec-fetch-site": "cross-site"}, False),
    ({"sec-fetch-site": "cross-site", "origin": "http://127.0.0.1"}, False),
    ({"origin": "http://127.0.0.1"}, True),
    ({"origin": "https://registry.example"}, True),
    ({"origin": "https://127.0.0.1"}, False),
    ({"origin": "http://registry.example"}, False),
    ({"origin": "https://registry.example.evil.example"}, False),
    ({"origin": "http://127.0.0.1:8001"}, False),
    ({"origin": "null"}, False),
    ({}, False),
]


async def test_cross_site_writes_with_a_cookie_are_rejected(registry: Registry) -> None:
    """Requests authenticated by a cookie must come from the registry's own pages; keys are exempt."""
    app = with_settings(registry.app, public_url="https://registry.example")
    transport = httpx.ASGITransport(create_app(app), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        for said, passes in SITES:
            client.cookies.update({"__Host-assay_session": (await admin_signed_in(app)).access_token})
            assert (await client.get("/api/v1/admin/audit", headers=said)).status_code == 200
            for path in ("/api/v1/submissions", "/api/v1/admin/queue/hold", "/auth/refresh", "/auth/sign-out"):
                answer = await client.post(path, headers=said)
                assert (said, path, answer.json().get("code") == "cross_site") == (said, path, not passes)
                assert answer.status_code != 403 or not passes
            with_key = await client.post("/api/v1/admin/queue/hold", headers={**said, "X-Internal-Key": SECRET})
            assert with_key.status_code == 415


async def test_pages_redirect_anonymous_visitors_to_sign_in(app: App) -> None:
    """After signing in, the visitor returns to the requested page."""

    @get("/private")
    async def private() -> str:
        return "secret"

    @post("/act", status_code=200)
    async def act() -> str:
        return "done"

    routes = build_routes()
    routes.register(private)
    routes.register(act)
    served = create_app(app, routes=routes)
    async with a_browser(served) as browser:
        asked = await browser.get("/private?a=1&b=%2F%3F")
        assert (asked.status_code, asked.headers["location"]) == (
            303,
            "/sign-in?next=%2Fprivate%3Fa%3D1%26b%3D%252F%253F",
        )
        page = await browser.get(asked.headers["location"])
        assert 'action="/sign-in?next=%2Fprivate%3Fa%3D1%26b%3D%252F%253F"' in page.text
        sent = await browser.post("/act", headers={"referer": "http://127.0.0.1/skills?q=x"})
        assert (sent.status_code, sent.headers["location"]) == (303, "/sign-in?next=%2Fskills%3Fq%3Dx")
        from_elsewhere = await browser.post("/act", headers={"referer": "http://evil.example/skills"})
        assert from_elsewhere.headers["location"] == "/sign-in?next=%2F"
        machine = await browser.get("/api/v1/admin/audit")
        assert machine.status_code == 401


async def test_page_header_shows_the_signed_in_person(app: App) -> None:
    """Only administrators see the link to the admin pages."""
    user, admin = await signed_in(app, "alice"), await admin_signed_in(app)
    for person, shown, hidden in [
        (None, ['href="/sign-in?next=%2Fskills"'], ["/auth/sign-out", 'href="/admin"']),
        (user, ["alice", 'action="/auth/sign-out"'], ['href="/sign-in', 'href="/admin"']),
        (admin, ["root", 'action="/auth/sign-out"', 'href="/admin"'], ['href="/sign-in']),
    ]:
        async with a_browser(app) as browser:
            browser.cookies.update(cookies_of(person) if person else {})
            for path in ("/skills", "/nothing/there"):
                page = (await browser.get(path)).text.replace("%2Fnothing%2Fthere", "%2Fskills")
                assert [text for text in shown if text not in page] == []
                assert [text for text in hidden if text in page] == []


async def test_pages_of_signed_in_people_are_not_cached(app: App) -> None:
    """After signing out, the back button must not show them."""
    user = await signed_in(app)
    async with a_browser(app) as browser:
        assert (await browser.get("/skills")).headers["cache-control"] == "no-cache"
        browser.cookies.update(cookies_of(user))
        assert (await browser.get("/skills")).headers["cache-control"] == "no-store"


async def test_token_with_an_unknown_role_is_rejected(app: App) -> None:
    user = await signed_in(app)
    claims = jwt.decode(user.access_token, options={"verify_signature": False})
    token = jwt.encode({**claims, "role": "ROOT"}, SECRET, algorithm="HS256")
    async with a_browser(app) as browser:
        browser.cookies.set("assay_session", token)
        assert (await browser.get("/auth/me")).json() == {"signedIn": False, "login": None, "role": None}
    assert claims["role"] == Role.USER
