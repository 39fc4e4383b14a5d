"""Sessions: sign-in with a password, refresh, sign-out, and stolen tokens."""

import asyncio

import httpx
import pytest
from litestar import get, post
from litestar.params import URLEncodedBody
from litestar.types import ASGIApp

from assay.accounts.admins import disable_account
from assay.accounts.sessions import ACCESS_SECONDS, GRACE_SECONDS, SESSION_SECONDS
from assay.app.app import App
from assay.web.app import build_routes, create_app
from assay.web.http.access import ADMIN
from assay.web.people.pages import SignInBody
from tests.support.web.people import (
    OURS,
    PASSWORD,
    MovableTime,
    a_browser,
    admin_signed_in,
    audit_of,
    cookies_of,
    sign_in,
    signed_in,
    with_settings,
)
from tests.support.web.statements import statements

LAPSED_SECONDS = ACCESS_SECONDS + 1


ELSEWHERE = [
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example/",
    "\\\\evil.example",
    "http:evil.example",
    "javascript:alert(1)",
    "/\t/evil.example",
    "/ok\r\nSet-Cookie: a=b",
    "evil.example",
    "",
    "/auth/refresh?next=/",
    "/" + "a" * 1999 + "ä",
]


async def me(browser: httpx.AsyncClient) -> tuple[bool, str | None, str | None]:
    """Return the account of the browser's session."""
    said = (await browser.get("/auth/me")).json()
    return said["signedIn"], said["login"], said["role"]


async def refresh(app: App | ASGIApp, token: str) -> httpx.Response:
    """Return the response to a refresh token."""
    async with a_browser(app) as browser:
        browser.cookies.set("assay_refresh", token)
        return await browser.post("/auth/refresh", headers={"accept": "application/json"})


def flags(answer: httpx.Response) -> dict[str, set[str]]:
    """Return the attributes of each cookie set by a response."""
    found = {}
    for header in answer.headers.get_list("set-cookie"):
        first, *others = header.split("; ")
        found[first.partition("=")[0]] = set(others)
    return found


async def test_form_signs_in_and_out_without_script(app: App) -> None:
    """G80."""
    async with a_browser(app) as browser:
        page = (await browser.get("/sign-in?next=/queue")).text
        assert '<form method="post" action="/sign-in?next=%2Fqueue">' in page
        assert "Sign in with GitHub" not in page
        answer = await sign_in(browser, "Root", onward="/queue")
        assert (answer.status_code, answer.headers["location"]) == (303, "/queue")
        assert await me(browser) == (True, "root", "SUPER_ADMIN")
        assert (await browser.get("/api/v1/admin/audit")).status_code == 200
        left = await browser.post("/auth/sign-out")
        assert (left.status_code, left.headers["location"]) == (303, "/")
        assert await me(browser) == (False, None, None)
        assert (await browser.get("/api/v1/admin/audit")).status_code == 401
    assert await audit_of(app, "account_created", "sign_in", "sign_out") == [
        ("command line", "account_created", "root"),
        ("root", "sign_in", "root"),
        ("root", "sign_out", "root"),
    ]


async def test_api_sign_in_and_out(app: App) -> None:
    """Without a browser's headers."""
    async with a_browser(app) as client:
        client.headers = httpx.Headers({"accept": "application/json"})
        answer = await client.post("/auth/sign-in", json={"login": "root", "password": PASSWORD})
        assert (answer.status_code, answer.json()["role"]) == (200, "SUPER_ADMIN")
        assert (await me(client))[0]
        left = await client.post("/auth/sign-out", headers=OURS)
        assert (left.status_code, left.json()["signedIn"]) == (200, False)
        refused = await client.post("/auth/sign-in", json={"login": "root", "password": "wrong password"})
        assert (refused.status_code, refused.json()["code"]) == (401, "wrong_password")
        unknown = await client.post("/auth/sign-in", json={"login": "nobody", "password": PASSWORD})
        assert unknown.json() == refused.json()


async def test_session_cookie_attributes(app: App) -> None:
    """G80: HttpOnly; SameSite=Lax, because Strict would sign people out when they follow a link; Secure over https."""
    async with a_browser(app) as browser:
        plain = flags(await sign_in(browser))
    usual = {"HttpOnly", "SameSite=lax", f"Max-Age={SESSION_SECONDS}"}
    assert plain == {"assay_session": {*usual, "Path=/"}, "assay_refresh": {*usual, "Path=/auth/refresh"}}
    async with a_browser(with_settings(app, public_url="https://registry.example")) as browser:
        secure = flags(await sign_in(browser))
    assert secure == {
        "__Host-assay_session": {*usual, "Secure", "Path=/"},
        "__Secure-assay_refresh": {*usual, "Secure", "Path=/auth/refresh"},
    }


async def test_public_reads_identify_the_caller_without_the_database(app: App) -> None:
    """G80: anonymous visitors, and sessions, whose access token carries the account; everything else is one query."""
    admin = await admin_signed_in(app, "boss")
    async with a_browser(app) as browser:
        with statements(app.store) as seen:
            assert await me(browser) == (False, None, None)
            assert (await browser.get("/api/v1/skills?nope=1")).status_code == 400
            browser.cookies.update(cookies_of(admin))
            assert await me(browser) == (True, "boss", "SUPER_ADMIN")
            assert (await browser.get("/nothing/here")).status_code == 404
            assert (await browser.get("/api/v1/skills?nope=1")).status_code == 400
        assert seen == []
        with statements(app.store) as seen:
            assert (await browser.get("/api/v1/admin/audit?nope=1")).status_code == 400
        assert len(seen) == 1


async def test_only_digests_are_stored(app: App) -> None:
    """A copy of the database contains neither tokens nor passwords."""
    async with a_browser(app) as browser:
        await sign_in(browser)
        held = [*browser.cookies.values(), PASSWORD]
    async with app.store.begin() as db:
        for table in ("account", "account_session", "audit_event", "sign_in_attempt"):
            stored = str((await db.exec_driver_sql(f"SELECT to_jsonb(t) FROM {table} t")).all())
            assert [each for each in held if each in stored or each.rpartition(".")[2] in stored] == []


async def test_concurrent_refreshes_return_the_same_token(app: App) -> None:
    """G80."""
    token = (await signed_in(app)).refresh_token
    served = create_app(app)
    answers = await asyncio.gather(*(refresh(served, token) for _ in range(50)))
    assert {answer.status_code for answer in answers} == {200}
    successors = {answer.cookies["assay_refresh"] for answer in answers}
    assert len(successors) == 1
    assert successors != {token}
    assert (await refresh(app, successors.pop())).status_code == 200


async def test_lost_refresh_response_can_be_requested_again(app: App, time: MovableTime) -> None:
    """G80: within seconds of the first request."""
    token = (await signed_in(app)).refresh_token
    lost = await refresh(app, token)
    time.pass_by(GRACE_SECONDS - 2)
    again = await refresh(app, token)
    assert again.cookies["assay_refresh"] == lost.cookies["assay_refresh"]
    time.pass_by(GRACE_SECONDS * 10)
    assert (await refresh(app, again.cookies["assay_refresh"])).status_code == 200


@pytest.mark.parametrize("generations", [1, 2])
async def test_late_reuse_of_a_refresh_token_ends_the_session(app: App, time: MovableTime, generations: int) -> None:
    """G80: the token was copied, so both holders lose the session."""
    first = newest = (await signed_in(app)).refresh_token
    other = (await signed_in(app, "bob")).refresh_token
    for _ in range(generations):
        time.pass_by(LAPSED_SECONDS)
        newest = (await refresh(app, newest)).cookies["assay_refresh"]
    time.pass_by(GRACE_SECONDS + 1)
    for token in (first, newest):
        answer = await refresh(app, token)
        assert (answer.status_code, answer.json()["code"]) == (401, "session_over")
    assert (await refresh(app, other)).status_code == 200
    assert await audit_of(app, "session_revoked") == [("alice", "session_revoked", "alice")]


async def test_forged_refresh_token_is_rejected(app: App) -> None:
    async with a_browser(app) as client:
        for token in ("", "x", ".", "0" * 32, "0" * 32 + ".secret", "ä.ö", '"', "a" * 5000):
            cookie = f"assay_refresh={token}; assay_session={token}".encode()
            answer = await client.post("/auth/refresh", headers={"accept": "*/*", "cookie": cookie})
            assert (token, answer.status_code) == (token, 401)


async def test_unused_session_expires(app: App, time: MovableTime) -> None:
    """After 30 days; each use extends it."""
    used = (await signed_in(app)).refresh_token
    unused = (await signed_in(app, "bob")).refresh_token
    time.pass_by(SESSION_SECONDS - 60)
    used = (await refresh(app, used)).cookies["assay_refresh"]
    time.pass_by(120)
    assert (await refresh(app, used)).status_code == 200
    assert (await refresh(app, unused)).status_code == 401
    await signed_in(app, "carol")
    async with app.store.begin() as db:
        kept = (await db.exec_driver_sql("SELECT count(*) FROM account_session")).scalar_one()
    assert kept == 2


async def test_page_refreshes_an_expired_access_token(app: App, time: MovableTime) -> None:
    """By one redirect, on public and protected pages."""
    async with a_browser(app) as browser:
        await sign_in(browser)
        time.pass_by(LAPSED_SECONDS)
        assert (await browser.get("/api/v1/admin/audit", headers={"accept": "*/*"})).status_code == 401
        asked = await browser.get("/skills?q=a%26b")
        assert (asked.status_code, asked.headers["location"]) == (307, "/auth/refresh?next=%2Fskills%3Fq%3Da%2526b")
        back = await browser.get(asked.headers["location"])
        assert (back.status_code, back.headers["location"]) == (303, "/skills?q=a%26b")
        page = await browser.get(back.headers["location"])
        assert (page.status_code, "root" in page.text) == (200, True)
        assert (await browser.get("/api/v1/admin/audit")).status_code == 200


async def test_form_is_resent_after_a_refresh(app: App, time: MovableTime) -> None:
    """The person's input is not lost."""

    @post("/admin/note", opt=ADMIN, status_code=200)
    async def note(data: URLEncodedBody[SignInBody]) -> str:
        return f"noted {data.login}"

    routes = build_routes()
    routes.register(note)
    served = create_app(app, routes=routes)
    async with a_browser(served) as browser:
        browser.follow_redirects = True
        await sign_in(browser)
        time.pass_by(LAPSED_SECONDS)
        answer = await browser.post("/admin/note", data={"login": "what I typed"})
        assert [each.status_code for each in answer.history] == [307, 307]
        assert (answer.request.method, answer.text) == ("POST", "noted what I typed")
        time.pass_by(SESSION_SECONDS)
        over = await browser.post("/admin/note", data={"login": "too late"})
        assert [each.status_code for each in over.history] == [307, 303]
        assert over.url.path == "/sign-in"


async def test_ended_session_does_not_redirect_forever(app: App, time: MovableTime) -> None:
    """The cookies are cleared."""

    @get("/admin/secret", opt=ADMIN)
    async def secret() -> str:
        return "secret"

    routes = build_routes()
    routes.register(secret)
    served = create_app(app, routes=routes)
    for path, end in [("/skills", "/skills"), ("/admin/secret", "/sign-in")]:
        async with a_browser(served) as browser:
            browser.follow_redirects = True
            await sign_in(browser)
            time.pass_by(SESSION_SECONDS)
            answer = await browser.get(path)
            assert (answer.status_code, answer.url.path) == (200, end)
            assert dict(browser.cookies) == {}


async def test_visit_without_cookies_keeps_the_session(app: App) -> None:
    """A cross-site link without Lax cookies must not clear them."""
    async with a_browser(app) as browser:
        assert flags(await browser.get("/auth/refresh")) == {}
        assert flags(await browser.post("/auth/sign-out", headers={"sec-fetch-site": "cross-site"})) == {}


async def test_sign_out_ends_a_session_with_an_expired_access_token(app: App, time: MovableTime) -> None:
    """The refresh token becomes useless."""
    async with a_browser(app) as browser:
        await sign_in(browser)
        (token,) = (each.value for each in browser.cookies.jar if each.name == "assay_refresh")
        time.pass_by(LAPSED_SECONDS)
        assert (await browser.post("/auth/sign-out")).status_code == 303
        assert dict(browser.cookies) == {}
    assert (await refresh(app, token)).status_code == 401
    assert await audit_of(app, "sign_out") == [("root", "sign_out", "root")]


async def test_disabled_account_loses_access(app: App, time: MovableTime) -> None:
    """At once."""
    async with a_browser(app) as browser:
        await sign_in(browser)
        (token,) = (each.value for each in browser.cookies.jar if each.name == "assay_refresh")
        async with app.store.begin() as db:
            assert await disable_account(db, "ROOT", app.clock.now()) == 1
        assert (await browser.get("/api/v1/admin/audit")).status_code == 401
        assert (await refresh(app, token)).status_code == 401
    async with a_browser(app) as browser:
        assert (await sign_in(browser)).status_code == 401
    other = (await signed_in(app, "bob")).refresh_token
    async with app.store.begin() as db:
        await db.exec_driver_sql("UPDATE account SET disabled_at = now() WHERE login = 'bob'")
    assert (await refresh(app, other)).status_code == 401


async def test_removed_admin_login_is_demoted_at_refresh(app: App, time: MovableTime) -> None:
    """A login that GitHub has not just confirmed is never promoted."""
    boss = await signed_in(app, "Boss", admin=True)
    still = await refresh(with_settings(app, admin_logins=("boss",)), boss.refresh_token)
    assert still.json()["role"] == "SUPER_ADMIN"
    time.pass_by(LAPSED_SECONDS)
    demoted = await refresh(with_settings(app, admin_logins=("other",)), still.cookies["assay_refresh"])
    assert demoted.json() == {"signedIn": True, "login": "Boss", "role": "USER"}
    time.pass_by(LAPSED_SECONDS)
    named_again = await refresh(with_settings(app, admin_logins=("boss",)), demoted.cookies["assay_refresh"])
    assert named_again.json()["role"] == "USER"
    changes = [("settings", "role_changed", "Boss"), ("settings", "role_changed", "Boss")]
    assert await audit_of(app, "role_changed") == changes


async def test_password_admins_are_independent_of_settings(app: App, time: MovableTime) -> None:
    async with a_browser(app) as browser:
        await sign_in(browser)
        (token,) = (each.value for each in browser.cookies.jar if each.name == "assay_refresh")
    assert (await refresh(app, token)).json()["role"] == "SUPER_ADMIN"


async def test_redirects_stay_on_the_registry(app: App) -> None:
    async with a_browser(app) as browser:
        for wanted in ELSEWHERE:
            page = await browser.get("/sign-in", params={"next": wanted})
            assert page.status_code != 200 or 'action="/sign-in?next=%2F"' in page.text
            led = [
                await browser.get("/auth/refresh", params={"next": wanted}),
                await sign_in(browser, onward=wanted),
                await browser.post("/auth/refresh", params={"next": wanted}),
            ]
            assert {answer.headers.get("location", "/") for answer in led} == {"/"}


async def test_cross_site_sign_in_is_rejected(app: App) -> None:
    """Otherwise a victim could unknowingly work in the attacker's account."""
    async with a_browser(app) as browser:
        for said in ({"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}):
            answer = await browser.post("/sign-in", data={"login": "root", "password": PASSWORD}, headers=said)
            assert answer.status_code == 403
            assert flags(answer) == {}
        del browser.headers["sec-fetch-site"]
        foreign = {"origin": "https://evil.example"}
        answer = await browser.post("/auth/sign-in", json={"login": "root", "password": PASSWORD}, headers=foreign)
        assert answer.status_code == 403


async def test_invalid_login_is_rejected(app: App) -> None:
    """It is not logged: people type passwords into the wrong field."""
    async with a_browser(app) as browser:
        for login in ("a b", "ro\x00ot", "-root", "x" * 65, "röot", ""):
            answer = await sign_in(browser, login)
            assert (answer.status_code, "login: use 1 to 64 letters" in answer.text) == (400, True)
    assert await audit_of(app, "sign_in_failed") == []


async def test_no_secret_is_logged(app: App, time: MovableTime, capsys: pytest.CaptureFixture[str]) -> None:
    """G84: neither passwords, tokens nor cookies, also when the database fails."""
    async with a_browser(app) as browser:
        await sign_in(browser)
        await sign_in(browser, password="a wrong password")
        time.pass_by(LAPSED_SECONDS)
        browser.follow_redirects = True
        await browser.get("/skills")
        held = [each.value for each in browser.cookies.jar]
        async with app.store.begin() as db:
            await db.exec_driver_sql("ALTER TABLE account_session ADD CONSTRAINT broken CHECK (false) NOT VALID")
        assert (await sign_in(browser)).status_code == 500
        assert (await browser.post("/auth/refresh")).status_code == 500
    logged = "".join(capsys.readouterr())
    assert "Request failed unexpectedly" in logged
    secrets = [*held, *(part for each in held for part in each.split(".")), PASSWORD, "a wrong password", "scrypt$"]
    assert [each for each in secrets if each in logged] == []
