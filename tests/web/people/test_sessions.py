"""Sessions: signing in with a password, staying signed in, signing out, and what a thief of a token gets."""

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
from assay.web.people.sign_in_page import SignInBody
from tests.support.web.people import (
    OURS,
    PASSWORD,
    MovableTime,
    a_browser,
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
    """Who the registry takes the browser for."""
    said = (await browser.get("/auth/me")).json()
    return said["signedIn"], said["login"], said["role"]


async def refresh(app: App | ASGIApp, token: str) -> httpx.Response:
    """What a program gets for a refresh token."""
    async with a_browser(app) as browser:
        browser.cookies.set("assay_refresh", token)
        return await browser.post("/auth/refresh", headers={"accept": "application/json"})


def flags(answer: httpx.Response) -> dict[str, set[str]]:
    """The attributes of each cookie that an answer sets."""
    found = {}
    for header in answer.headers.get_list("set-cookie"):
        first, *others = header.split("; ")
        found[first.partition("=")[0]] = set(others)
    return found


async def test_a_form_signs_in_and_out_without_a_script(app: App) -> None:
    """G80: the right password opens a session of an admin, which ends when the person leaves."""
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


async def test_a_program_signs_in_and_out(app: App) -> None:
    """The same in JSON, without a browser's headers."""
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


async def test_cookies_are_kept_from_scripts_and_other_sites(app: App) -> None:
    """G80: Lax, because Strict signs out whoever follows a link; over https only https sees them."""
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


async def test_a_session_is_checked_without_the_database(app: App) -> None:
    """G80: who is signed in is in the token, so no page waits for a query about it."""
    admin = await signed_in(app, "boss", admin=True)
    async with a_browser(app) as browser:
        browser.cookies.update(cookies_of(admin))
        with statements(app.store) as seen:
            assert await me(browser) == (True, "boss", "SUPER_ADMIN")
            assert (await browser.get("/nothing/here")).status_code == 404
            assert (await browser.get("/api/v1/admin/audit?nope=1")).status_code == 400
    assert seen == []


async def test_only_digests_are_stored(app: App) -> None:
    """A copy of the database opens no session: neither tokens nor passwords are in it."""
    async with a_browser(app) as browser:
        await sign_in(browser)
        held = [*browser.cookies.values(), PASSWORD]
    async with app.store.begin() as db:
        for table in ("account", "account_session", "audit_event", "sign_in_attempt"):
            stored = str((await db.exec_driver_sql(f"SELECT to_jsonb(t) FROM {table} t")).all())
            assert [each for each in held if each in stored or each.rpartition(".")[2] in stored] == []


async def test_many_tabs_may_refresh_at_once(app: App) -> None:
    """G80: of many refreshes with one token all succeed, with the same successor, and the session goes on."""
    token = (await signed_in(app)).refresh_token
    served = create_app(app)
    answers = await asyncio.gather(*(refresh(served, token) for _ in range(50)))
    assert {answer.status_code for answer in answers} == {200}
    successors = {answer.cookies["assay_refresh"] for answer in answers}
    assert len(successors) == 1
    assert successors != {token}
    assert (await refresh(app, successors.pop())).status_code == 200


async def test_an_answer_that_was_lost_is_given_again(app: App, time: MovableTime) -> None:
    """G80: a browser that never saw its new token asks with the old one some seconds later, and stays signed in."""
    token = (await signed_in(app)).refresh_token
    lost = await refresh(app, token)
    time.pass_by(GRACE_SECONDS - 2)
    again = await refresh(app, token)
    assert again.cookies["assay_refresh"] == lost.cookies["assay_refresh"]
    time.pass_by(GRACE_SECONDS * 10)
    assert (await refresh(app, again.cookies["assay_refresh"])).status_code == 200


@pytest.mark.parametrize("generations", [1, 2])
async def test_a_token_that_is_used_again_later_ends_the_session(app: App, time: MovableTime, generations: int) -> None:
    """G80: an old token is a copy. Nobody knows who holds it, so neither holder goes on."""
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


async def test_a_made_up_token_is_worth_nothing(app: App) -> None:
    """Whatever it looks like, it is the same refusal."""
    async with a_browser(app) as client:
        for token in ("", "x", ".", "0" * 32, "0" * 32 + ".secret", "ä.ö", '"', "a" * 5000):
            cookie = f"assay_refresh={token}; assay_session={token}".encode()
            answer = await client.post("/auth/refresh", headers={"accept": "*/*", "cookie": cookie})
            assert (token, answer.status_code) == (token, 401)


async def test_a_session_that_nobody_uses_ends(app: App, time: MovableTime) -> None:
    """A refresh token is good for thirty days, and each use gives thirty more."""
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


async def test_a_page_refreshes_its_session_by_itself(app: App, time: MovableTime) -> None:
    """A lapsed access token costs a person a redirect, not their session, on public pages and on closed ones."""
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


async def test_a_form_that_meets_a_lapsed_session_is_sent_again(app: App, time: MovableTime) -> None:
    """What a person has typed is not lost because fifteen minutes have passed."""

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


async def test_a_page_of_a_session_that_is_over_is_anybodys(app: App, time: MovableTime) -> None:
    """No loop: when the session cannot be refreshed, the browser forgets it."""

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


async def test_a_visit_without_cookies_signs_nobody_out(app: App) -> None:
    """Another site that leads a browser here, while Lax cookies stay behind, must not take them away."""
    async with a_browser(app) as browser:
        assert flags(await browser.get("/auth/refresh")) == {}
        assert flags(await browser.post("/auth/sign-out", headers={"sec-fetch-site": "cross-site"})) == {}


async def test_signing_out_ends_a_lapsed_session_too(app: App, time: MovableTime) -> None:
    """Whoever presses the button on an old page has left, and the refresh token that somebody copied is worthless."""
    async with a_browser(app) as browser:
        await sign_in(browser)
        (token,) = (each.value for each in browser.cookies.jar if each.name == "assay_refresh")
        time.pass_by(LAPSED_SECONDS)
        assert (await browser.post("/auth/sign-out")).status_code == 303
        assert dict(browser.cookies) == {}
    assert (await refresh(app, token)).status_code == 401
    assert await audit_of(app, "sign_out") == [("root", "sign_out", "root")]


async def test_a_disabled_account_loses_its_power(app: App, time: MovableTime) -> None:
    """At the latest with the access token, and it cannot sign in again."""
    async with a_browser(app) as browser:
        await sign_in(browser)
        (token,) = (each.value for each in browser.cookies.jar if each.name == "assay_refresh")
        async with app.store.begin() as db:
            assert await disable_account(db, "ROOT", app.clock.now()) == 1
        assert (await refresh(app, token)).status_code == 401
        time.pass_by(LAPSED_SECONDS)
        assert (await browser.get("/api/v1/admin/audit")).status_code == 401
    async with a_browser(app) as browser:
        assert (await sign_in(browser)).status_code == 401
    other = (await signed_in(app, "bob")).refresh_token
    async with app.store.begin() as db:
        await db.exec_driver_sql("UPDATE account SET disabled_at = now() WHERE login = 'bob'")
    assert (await refresh(app, other)).status_code == 401


async def test_an_admin_that_the_settings_no_longer_name_is_demoted(app: App, time: MovableTime) -> None:
    """The role is read again at each refresh; a login that GitHub has not just confirmed is never promoted."""
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


async def test_our_own_admins_are_not_named_in_settings(app: App, time: MovableTime) -> None:
    """An account with a password keeps its role, whatever GitHub logins the settings have."""
    async with a_browser(app) as browser:
        await sign_in(browser)
        (token,) = (each.value for each in browser.cookies.jar if each.name == "assay_refresh")
    assert (await refresh(app, token)).json()["role"] == "SUPER_ADMIN"


async def test_no_way_leads_to_another_site(app: App) -> None:
    """An address that a stranger made up must not use our name to send people away."""
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


async def test_another_site_cannot_sign_anybody_in(app: App) -> None:
    """Otherwise a person would work, without noticing, in the account of somebody who waits for it."""
    async with a_browser(app) as browser:
        for said in ({"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}):
            answer = await browser.post("/sign-in", data={"login": "root", "password": PASSWORD}, headers=said)
            assert answer.status_code == 403
            assert flags(answer) == {}
        del browser.headers["sec-fetch-site"]
        foreign = {"origin": "https://evil.example"}
        answer = await browser.post("/auth/sign-in", json={"login": "root", "password": PASSWORD}, headers=foreign)
        assert answer.status_code == 403


async def test_what_cannot_be_a_login_is_refused_by_name(app: App) -> None:
    """It is neither tried nor written anywhere: people type passwords into the wrong field."""
    async with a_browser(app) as browser:
        for login in ("a b", "ro\x00ot", "-root", "x" * 65, "röot", ""):
            answer = await sign_in(browser, login)
            assert (answer.status_code, "login: letters" in answer.text) == (400, True)
    assert await audit_of(app, "sign_in_failed") == []


async def test_nothing_secret_is_logged(app: App, time: MovableTime, capsys: pytest.CaptureFixture[str]) -> None:
    """G84: neither passwords nor tokens nor cookies in any log line, also when the database fails in the middle."""
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
    assert "A bug stopped a request" in logged
    secrets = [*held, *(part for each in held for part in each.split(".")), PASSWORD, "a wrong password", "scrypt$"]
    assert [each for each in secrets if each in logged] == []
