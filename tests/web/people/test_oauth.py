"""Sign-in with a GitHub on loopback: state, PKCE, and failures."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import httpx
import pytest
from pydantic import SecretStr

from assay.accounts.admins import disable_account
from assay.app.app import App
from assay.model.errors import Invalid
from assay.settings import Settings
from assay.web.http.cookies import GITHUB_SECONDS
from tests.support.fake_github import FakeGitHub
from tests.support.registry import open_registry
from tests.support.web.oauth import CALLBACK, CLIENT_ID, CLIENT_SECRET, calls
from tests.support.web.people import MovableTime, a_browser, audit_of, with_settings


@pytest.fixture
async def app(settings: Settings, github: FakeGitHub, time: MovableTime) -> AsyncIterator[App]:
    """Return a registry that is an OAuth app of its GitHub, where `Alice` uses the browser."""
    github.add_oauth_app(CLIENT_ID, CLIENT_SECRET, CALLBACK)
    github.sign_in_as(7, "Alice")
    set_up = {"oauth_client_id": CLIENT_ID, "oauth_client_secret": SecretStr(CLIENT_SECRET)}
    async with open_registry(settings.model_copy(update=set_up), github, time.clock) as opened:
        yield opened.app


@asynccontextmanager
async def at_github(url: str) -> AsyncIterator[str]:
    """Return the URL to which GitHub redirects the browser."""
    async with aiohttp.ClientSession() as session, session.get(url, allow_redirects=False) as answer:
        assert answer.status == 302
        yield answer.headers["Location"]


async def come_back(browser: httpx.AsyncClient, onward: str = "/") -> httpx.Response:
    """Follow the sign-in from the button to the callback."""
    asked = await browser.get("/auth/github", params={"next": onward})
    assert asked.status_code == 303
    async with at_github(asked.headers["location"]) as location:
        assert location.startswith(f"{CALLBACK}?")
        return await browser.get(location.removeprefix("http://127.0.0.1:8000"))


async def me(browser: httpx.AsyncClient) -> dict[str, Any]:
    """Return the account of the browser's session."""
    return (await browser.get("/auth/me")).json()


async def test_sign_in_with_github(app: App, github: FakeGitHub) -> None:
    """G81: no scopes are requested, and the GitHub token is used once."""
    async with a_browser(app) as browser:
        assert 'href="/auth/github?next=%2Fqueue"' in (await browser.get("/sign-in?next=/queue")).text
        asked = await browser.get("/auth/github")
        said = parse_qs(urlsplit(asked.headers["location"]).query)
        assert set(said) == {"client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method"}
        assert (said["redirect_uri"], said["code_challenge_method"]) == ([CALLBACK], ["S256"])
        cookie = asked.headers["set-cookie"]
        assert {"HttpOnly", "SameSite=lax", "Path=/auth/github", f"Max-Age={GITHUB_SECONDS}"} <= {*cookie.split("; ")}
        answer = await come_back(browser, "/queue")
        assert (answer.status_code, answer.headers["location"]) == (303, "/queue")
        assert await me(browser) == {"signedIn": True, "login": "Alice", "role": "USER"}
        assert "assay_github" not in dict(browser.cookies)
        assert (await browser.get("/api/v1/admin/audit")).status_code == 403
    assert (len(calls(github, "token")), len(calls(github, "user"))) == (1, 1)
    assert await audit_of(app, "account_created", "sign_in") == [
        ("Alice", "account_created", "Alice"),
        ("Alice", "sign_in", "Alice"),
    ]


async def test_sign_in_redirects_only_within_the_registry(app: App) -> None:
    """The target is checked before it is signed."""
    async with a_browser(app) as browser:
        for wanted in ("https://evil.example/", "//evil.example", "/\\evil.example"):
            assert (await come_back(browser, wanted)).headers["location"] == "/"


async def test_admin_logins_come_from_settings(app: App) -> None:
    """Case-insensitive, checked at each sign-in."""
    for logins, role in [(("bob", "alice"), "SUPER_ADMIN"), (("bob",), "USER"), (("alice",), "SUPER_ADMIN")]:
        async with a_browser(with_settings(app, admin_logins=logins)) as browser:
            await come_back(browser)
            assert (await me(browser))["role"] == role
    assert len(await audit_of(app, "role_changed")) == 3
    assert Settings.from_mapping({"ASSAY_ADMIN_LOGINS": "Alice, BOB"}).admin_logins == ("alice", "bob")
    with pytest.raises(Invalid, match="ASSAY_ADMIN_LOGINS: '@alice' is not a GitHub login"):
        Settings.from_mapping({"ASSAY_ADMIN_LOGINS": "@alice"})


async def test_account_follows_the_github_id_not_the_login(app: App, github: FakeGitHub) -> None:
    """G79, G81: a reused login gets neither the account nor its rights."""
    named = with_settings(app, admin_logins=("alice",))
    async with a_browser(named) as browser:
        await come_back(browser)
    github.sign_in_as(7, "Alice-Renamed")
    async with a_browser(named) as browser:
        await come_back(browser)
        assert await me(browser) == {"signedIn": True, "login": "Alice-Renamed", "role": "USER"}
    github.sign_in_as(8, "Alice")
    async with a_browser(app) as browser:
        await come_back(browser)
        assert (await me(browser))["login"] == "Alice"
    async with app.store.begin() as db:
        accounts = (await db.exec_driver_sql("SELECT github_id, login FROM account ORDER BY github_id")).all()
    assert accounts == [(7, "Alice-Renamed"), (8, "Alice")]


async def test_concurrent_first_sign_ins_create_one_account(app: App) -> None:
    async with a_browser(app) as one, a_browser(app) as other:
        answers = await asyncio.gather(come_back(one), come_back(other))
    assert [answer.status_code for answer in answers] == [303, 303]
    assert len(await audit_of(app, "account_created")) == 1


async def test_disabled_account_cannot_sign_in(app: App) -> None:
    async with a_browser(app) as browser:
        await come_back(browser)
    async with app.store.begin() as db:
        await disable_account(db, "alice", app.clock.now())
    async with a_browser(app) as browser:
        answer = await come_back(browser)
        assert (answer.status_code, "This account is disabled." in answer.text) == (403, True)
        assert not (await me(browser))["signedIn"]


async def test_sign_in_started_elsewhere_is_rejected(app: App, github: FakeGitHub, time: MovableTime) -> None:
    """State, browser and time must match the start of the sign-in."""
    async with a_browser(app) as attacker, a_browser(app) as victim:
        asked = await attacker.get("/auth/github")
        async with at_github(asked.headers["location"]) as location:
            path = location.removeprefix("http://127.0.0.1:8000")
        forged = [
            (victim, path),
            (attacker, path.replace("state=", "state=x")),
            (attacker, path.partition("&state")[0]),
            (attacker, "/auth/github/callback"),
        ]
        for browser, target in forged:
            answer = await browser.get(target, headers={"accept": "*/*"})
            assert (answer.status_code, answer.json()["code"]) == (400, "bad_oauth_state")
        await victim.get("/auth/github")
        assert (await victim.get(path)).status_code == 400
        time.pass_by(GITHUB_SECONDS + 1)
        assert (await attacker.get(path)).status_code == 400
    assert calls(github, "token") == []
    assert await audit_of(app, "sign_in") == []


async def test_code_without_its_pkce_verifier_is_rejected(app: App, github: FakeGitHub) -> None:
    async with a_browser(app) as victim, a_browser(app) as thief:
        asked = await victim.get("/auth/github")
        async with at_github(asked.headers["location"]) as location:
            code = parse_qs(urlsplit(location).query)["code"][0]
        state = parse_qs(urlsplit((await thief.get("/auth/github")).headers["location"]).query)["state"][0]
        answer = await thief.get("/auth/github/callback", params={"code": code, "state": state})
        assert (answer.status_code, "GitHub did not confirm who you are" in answer.text) == (403, True)
    assert len(calls(github, "token")) == 1
    assert calls(github, "user") == []


async def test_github_refusal_is_reported(app: App, github: FakeGitHub) -> None:
    """GitHub reports wrong and used codes with status 200; a person may also decline."""
    async with a_browser(app) as browser:
        state = parse_qs(urlsplit((await browser.get("/auth/github")).headers["location"]).query)["state"][0]
        bad = await browser.get("/auth/github/callback", params={"code": "made-up", "state": state})
        assert (bad.status_code, "GitHub did not confirm who you are" in bad.text) == (403, True)
        github.sign_in_as(7, "Alice", denies=True)
        denied = await come_back(browser)
        assert (denied.status_code, "You did not authorise the sign-in at GitHub." in denied.text) == (403, True)
        assert not (await me(browser))["signedIn"]


async def test_github_outage_is_reported(app: App, github: FakeGitHub, capsys: Any) -> None:
    """503 with Retry-After on errors, disconnects and malformed responses, then recovery."""
    troubles = [
        lambda: github.fail("token", 500),
        lambda: github.fail("token", 200, body="<html>"),
        lambda: github.drop_connection("token"),
        lambda: github.fail("user", 500),
        lambda: github.fail("user", 200, body='{"login": "Alice"}'),
        lambda: github.drop_connection("user", times=2),
    ]
    async with a_browser(app) as browser:
        for make in troubles:
            make()
            answer = await come_back(browser)
            assert (answer.status_code, "retry-after" in answer.headers) == (503, True)
            assert not (await me(browser))["signedIn"]
        assert (await come_back(browser)).status_code == 303
    assert "Answered 503" in "".join(capsys.readouterr())


async def test_wrong_client_secret_is_an_operator_error(app: App) -> None:
    """G81: it is not blamed on the visitor and the secret is not shown."""
    wrong = with_settings(app, oauth_client_secret=SecretStr("not-the-secret"))
    async with a_browser(wrong) as browser:
        answer = await come_back(browser)
    assert answer.status_code == 503
    assert "incorrect_client_credentials" in answer.text
    assert "not-the-secret" not in answer.text


async def test_sign_in_without_oauth_settings_is_disabled(app: App, github: FakeGitHub) -> None:
    """G81: no button, and an explanation for direct visits."""
    off = with_settings(app, oauth_client_id=None, oauth_client_secret=None)
    async with a_browser(off) as browser:
        assert "GitHub" not in (await browser.get("/sign-in")).text
        for path in ("/auth/github", "/auth/github/callback?code=x&state=y"):
            answer = await browser.get(path, headers={"accept": "*/*"})
            assert (answer.status_code, answer.json()["code"]) == (404, "oauth_off")
    assert calls(github, "token") == []
    for only in ("ASSAY_OAUTH_CLIENT_ID", "ASSAY_OAUTH_CLIENT_SECRET"):
        with pytest.raises(Invalid, match="set both or neither"):
            Settings.from_mapping({only: "something"})


async def test_github_credentials_are_neither_stored_nor_logged(app: App, github: FakeGitHub, capsys: Any) -> None:
    """G84: token, code, state, verifier and client secret."""
    async with a_browser(app) as browser:
        asked = await browser.get("/auth/github")
        held = [browser.cookies["assay_github"], *browser.cookies["assay_github"].split(".")]
        async with at_github(asked.headers["location"]) as location:
            held += [value for values in parse_qs(urlsplit(location).query).values() for value in values]
            github.fail("user", 500)
            assert (await browser.get(location.removeprefix("http://127.0.0.1:8000"))).status_code == 503
        await come_back(browser)
        held += [each.value or "" for each in browser.cookies.jar]
    tokens = [call.token for call in calls(github, "user")]
    assert len(tokens) == 2
    logged = "".join(capsys.readouterr())
    async with app.store.begin() as db:
        tables = (await db.exec_driver_sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).scalars()
        rows = [(await db.exec_driver_sql(f'SELECT to_jsonb(t) FROM "{name}" t')).all() for name in tables]
    assert [each for each in [*tokens, *held, CLIENT_SECRET] if each in logged] == []
    assert [each for each in [*tokens, *held, CLIENT_SECRET] if each in str(rows)] == []
    assert CLIENT_SECRET not in repr(app)
