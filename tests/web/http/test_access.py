"""Who may call what: every route, every kind of caller, one decision, deny by default."""

import hmac
import json
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

from assay.accounts.sessions import ACCESS_SECONDS, end_session
from assay.accounts.signed_claims import Purpose, Seal
from assay.accounts.tokens import USUAL_DAYS
from assay.app.app import App
from assay.app.sign_in import open_seal
from assay.model.account import Role
from assay.model.clock import Clock
from assay.model.source import digest_of
from assay.settings import Settings
from assay.web.app import build_routes, create_app
from assay.web.http.access import ACCOUNT, PUBLIC, Access, check_routes
from assay.web.http.caller import AccessClaims
from assay.web.openapi import render_openapi
from tests.support.registry import SECRET, Registry
from tests.support.web.people import OURS, a_browser, a_token, bearer, cookies_of, signed_in, with_settings

OTHER_SECRET = "another-secret-that-is-long-enough-too"
ADMIN_LOGIN = "warden"
REVOKE = text("UPDATE account_token SET revoked_at = now() WHERE token_digest = :digest")
PREVIOUS_KEY = "the-key-before-which-is-long-enough-as-well"
CLOSED = ("/admin", "/api/v1/admin", "/api/v1/internal")
NOBODY = {
    "anonymous",
    "wrong key",
    "empty key",
    "wrong key of an admin",
    "expired",
    "revoked",
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
# Of these nothing is written, not even where anybody may write.
STALE = {
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
# Whoever adds a route that anybody may write to has to say so here.
OPEN_TO_WRITE = {
    ("POST", "/api/v1/auth/github/exchange-for-vsk-token"),
    ("POST", "/api/v1/skills/check-updates"),
    ("POST", "/api/v1/skills/installs"),
    ("POST", "/api/v1/skills/{owner:str}/{repo:str}/{skill:str}/installs"),
    ("POST", "/api/v1/skills/{owner:str}/{repo:str}/{skill:str}/reports"),
    ("POST", "/api/v1/submissions"),
    ("POST", "/api/v1/submissions/bulk"),
    ("POST", "/api/v1/submissions/discover"),
    ("POST", "/api/v1/submissions/upload"),
    ("POST", "/api/v1/webhooks/github"),
    ("POST", "/auth/refresh"),
    ("POST", "/auth/sign-in"),
    ("POST", "/auth/sign-out"),
    ("POST", "/sign-in"),
    ("POST", "/skills/{owner:str}/{repo:str}/{skill:str}/reports"),
    ("POST", "/api/v1/webhooks/scan-results"),
}
# Anybody may call it, and nobody is heard without a signature.
SIGNED = "/api/v1/webhooks/scan-results"


def all_routes(app: Litestar) -> Iterator[tuple[str, str, Any]]:
    """Method, path and handler of everything that is registered; the framework's own OPTIONS apart."""
    for route in app.routes:
        assert isinstance(route, HTTPRoute)
        for handler in route.route_handlers:
            yield from ((method, route.path, handler) for method in handler.http_methods if method != "OPTIONS")


def expected_access(path: str, handler: Any) -> Access:
    """Found out without the code under test: closed by path, or else as declared, or else for admins."""
    if any(f"{path}/".startswith(f"{prefix}/") for prefix in CLOSED):
        return Access.ADMIN
    return handler.opt.get("access", Access.ADMIN)


def filled(app: Litestar, path: str) -> str:
    """A path that the route answers to."""
    route = next(route for route in app.routes if route.path == path)
    parts = [each if isinstance(each, str) else "1" if each.type is int else "0" * 32 for each in route.path_components]
    return "/" + "/".join(parts)


async def everybody(app: App) -> dict[str, dict[str, Any]]:
    """Every kind of caller, as what it sends."""
    now, seal = app.clock.now(), open_seal(app.settings)
    user, admin = await signed_in(app, "alice"), await signed_in(app, "root", admin=True)
    claims = jwt.decode(admin.access_token, options={"verify_signature": False})
    head, _, signature = user.access_token.split(".")
    _, payload, _ = admin.access_token.split(".")
    over = seal.sign(Purpose.SESSION, claims, now - timedelta(seconds=ACCESS_SECONDS), ACCESS_SECONDS)
    async with app.store.begin() as db:
        await end_session(db, seal.read(Purpose.SESSION, admin.access_token, AccessClaims, now), now)
    tokens = {
        "user": user.access_token,
        "super admin": admin.access_token,
        "expired": over,
        "revoked": over,
        "tampered": f"{head}.{payload}.{signature}",
        "alg none": jwt.encode(claims, "", algorithm="none"),
        "signed with another secret": Seal(OTHER_SECRET).sign(Purpose.SESSION, claims, now, ACCESS_SECONDS),
        "for another purpose": seal.sign(Purpose.GITHUB, claims, now, ACCESS_SECONDS),
        "of another issuer": jwt.encode({**claims, "iss": "somebody"}, SECRET, algorithm="HS256"),
        "from the future": seal.sign(Purpose.SESSION, claims, now + timedelta(days=1), ACCESS_SECONDS),
        "without an end": jwt.encode({k: v for k, v in claims.items() if k != "exp"}, SECRET, algorithm="HS256"),
        "nonsense": "a.b.c",
    }
    good, revoked, admins = await a_token(app), await a_token(app), await a_token(app, ADMIN_LOGIN, admin=True)
    disabled, late = await a_token(app, "mallory"), now - timedelta(days=USUAL_DAYS)
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
    """A registry whose key is being changed, with an administrator from GitHub."""
    previous = Settings.from_mapping({"ASSAY_INTERNAL_KEY_PREVIOUS": PREVIOUS_KEY}).internal_key_previous
    yield with_settings(registry.app, internal_key_previous=previous, admin_logins=(ADMIN_LOGIN,))


def is_signed_work(method: str, path: str) -> bool:
    """Whether something is done there in the name of who asks; signing in is done in nobody's."""
    return method not in ("GET", "HEAD") and not path.startswith(("/auth/", "/sign-in", "/api/v1/auth/github"))


async def decision(client: httpx.AsyncClient, method: str, path: str, sent: dict[str, Any]) -> Any:
    """What the guard decides; the parameter is refused right after it, so that no handler runs."""
    request = client.build_request(method, path, params={"walk": "1"}, **{"headers": {}, **sent})
    answer = await client.send(request)
    if method == "HEAD":
        return {400: "unknown_parameter", 401: "unauthenticated", 403: "forbidden"}.get(answer.status_code)
    return answer.json()["code"]


async def test_every_route_with_every_caller(app: App) -> None:
    """G77: nobody passes where only people or admins may, whatever they send; a token of a person
    is as good as their cookie, and better by itself: no page of another site can send it."""
    routes = build_routes()
    served = create_app(app, routes=routes)
    callers = await everybody(app)
    assert set(callers) == NOBODY | STALE | USERS | ADMINS
    allowed = {Access.PUBLIC: set(callers), Access.ACCOUNT: USERS | ADMINS, Access.ADMIN: ADMINS}
    wrong, seen = [], set()
    transport = httpx.ASGITransport(served, raise_app_exceptions=False)
    for name, sent in callers.items():
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", cookies=sent.pop("cookies", None)
        ) as client:
            for method, path, handler in all_routes(routes):
                access = expected_access(path, handler)
                refusal = "forbidden" if name in USERS else "unauthenticated"
                right = "unknown_parameter" if name in allowed[access] else refusal
                right = "unsigned" if path == SIGNED else right
                right = "unauthenticated" if name in STALE and is_signed_work(method, path) else right
                decided = await decision(client, method, filled(routes, path), sent)
                seen.add(access)
                if decided != right:
                    wrong.append((name, method, path, decided, right))
    assert wrong == []
    assert {Access.PUBLIC, Access.ADMIN} <= seen


def test_only_these_routes_can_be_written_to_by_anybody() -> None:
    """G77: a new route that changes something is for admins, or is named in this file."""
    open_ones = {
        (method, path)
        for method, path, handler in all_routes(build_routes())
        if method not in ("GET", "HEAD") and expected_access(path, handler) is Access.PUBLIC
    }
    assert open_ones == OPEN_TO_WRITE


async def test_a_route_that_declares_nothing_is_for_admins(app: App) -> None:
    """G77: forgetting the level closes a route; it does not open it."""

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
    user, admin = await signed_in(app), await signed_in(app, "root", admin=True)
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
def test_an_open_route_where_admins_work_stops_the_start(path: str, declared: dict[str, Any]) -> None:
    """G77: what lies under an admin path cannot be opened by mistake, not even on purpose."""

    @post(path, opt=declared)
    async def careless() -> None: ...

    served = build_routes()
    served.register(careless)
    with pytest.raises(PermissionError, match="must be for admins only"):
        check_routes(served)


def test_the_description_says_who_may_call_what() -> None:
    """G63: a client sees in advance where it needs a key or a session."""
    paths = json.loads(render_openapi())["paths"]
    needs = {
        path: {name for each in item.values() for one in each.get("security", []) for name in one}
        for path, item in paths.items()
    }
    assert needs["/api/v1/admin/audit"] == {"internalKey", "session", "token"}
    closed = {path for path, schemes in needs.items() if schemes}
    assert {path for path in closed if not path.startswith("/api/v1/skills/")} == {
        path
        for path in paths
        if any(part in path for part in ("/admin/", "/internal/", "/account/"))
        or path.endswith(("/appeal", "-out-all"))
    }
    assert {path.rpartition("/")[2] for path in closed if path.startswith("/api/v1/skills/")} == {
        "yank", "unyank", "deprecate", "undeprecate", "{tag}", "unlist", "relist", "reindex", "rescan",
    }  # fmt: skip


def test_names_that_only_look_like_admin_paths_are_not_closed() -> None:
    """The rule is about whole parts of a path."""

    @get("/administration", opt=PUBLIC)
    async def about() -> None: ...

    served = build_routes()
    served.register(about)
    check_routes(served)


async def test_both_keys_are_always_compared_in_constant_time(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G78: the time of an answer tells neither how much of a key is right nor which of the two it was."""
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


async def test_without_a_key_no_key_is_right(registry: Registry) -> None:
    """G78: an empty setting lets nobody in, not even with an empty key."""
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


async def test_another_site_cannot_act_for_a_person(registry: Registry) -> None:
    """What changes something and is proved by a cookie must come from our own page; a key is no cookie."""
    app = with_settings(registry.app, public_url="https://registry.example")
    admin = await signed_in(app, "root", admin=True)
    transport = httpx.ASGITransport(create_app(app), raise_app_exceptions=False)
    cookies = {"__Host-assay_session": admin.access_token}
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", cookies=cookies) as client:
        for said, passes in SITES:
            for path in ("/api/v1/submissions", "/api/v1/admin/queue/hold", "/auth/sign-out", "/auth/refresh"):
                answer = await client.post(path, headers=said)
                assert (said, path, answer.json().get("code") == "cross_site") == (said, path, not passes)
                assert answer.status_code != 403 or not passes
                client.cookies.update(cookies)
            with_key = await client.post("/api/v1/admin/queue/hold", headers={**said, "X-Internal-Key": SECRET})
            assert with_key.status_code == 415
            assert (await client.get("/api/v1/admin/audit", headers=said)).status_code == 200


async def test_people_are_led_to_the_sign_in_page(app: App) -> None:
    """A page says 401 by asking to sign in, and brings back to where the person wanted to go."""

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


async def test_the_header_shows_who_is_signed_in(app: App) -> None:
    """Nobody is asked to sign in; a person sees the login and can leave; only an admin sees the way to the admin pages."""
    user, admin = await signed_in(app, "alice"), await signed_in(app, "root", admin=True)
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


async def test_what_a_signed_in_person_sees_is_not_kept(app: App) -> None:
    """After signing out, the back button must not show a page of before."""
    user = await signed_in(app)
    async with a_browser(app) as browser:
        assert (await browser.get("/skills")).headers["cache-control"] == "no-cache"
        browser.cookies.update(cookies_of(user))
        assert (await browser.get("/skills")).headers["cache-control"] == "no-store"


async def test_roles_in_a_token_are_those_that_exist(app: App) -> None:
    """A token of ours with a role that no release knows proves nothing."""
    user = await signed_in(app)
    claims = jwt.decode(user.access_token, options={"verify_signature": False})
    token = jwt.encode({**claims, "role": "ROOT"}, SECRET, algorithm="HS256")
    async with a_browser(app) as browser:
        browser.cookies.set("assay_session", token)
        assert (await browser.get("/auth/me")).json() == {"signedIn": False, "login": None, "role": None}
    assert claims["role"] == Role.USER
