"""Finding 14: a cookie whose session has ended can read what is public, and nothing else."""

from collections.abc import Awaitable, Callable

import httpx
import pytest

from assay.accounts.admins import change_role, disable_account
from assay.accounts.sessions import GRACE_SECONDS, SessionTokens
from assay.app.app import App
from assay.model.account import Role
from assay.store.queue.pauses import read_pause
from tests.support.web.people import (
    OURS,
    MovableTime,
    a_browser,
    admin_signed_in,
    audit_of,
    cookies_of,
    signed_in,
    with_role,
)

Ending = Callable[[App, MovableTime, SessionTokens], Awaitable[None]]
PAUSE, AUDIT, SESSIONS = "/api/v1/admin/queue/pause", "/api/v1/admin/audit", "/api/v1/account/sessions"
BODY = {"reason": "With a cookie that was copied."}
JSON = {"accept": "application/json"}


async def post(app: App, path: str, person: SessionTokens, **given: object) -> httpx.Response:
    async with a_browser(app) as browser:
        browser.headers.update(JSON)
        browser.cookies.update(cookies_of(person))
        return await browser.post(path, **given)  # type: ignore[arg-type]


async def sign_out(app: App, _time: MovableTime, person: SessionTokens) -> None:
    assert (await post(app, "/auth/sign-out", person)).status_code == 200


async def reuse_a_refresh_token(app: App, time: MovableTime, person: SessionTokens) -> None:
    async with a_browser(app) as browser:
        for status in (200, 401):
            browser.cookies.clear()
            browser.cookies.set("assay_refresh", person.refresh_token)
            assert (await browser.post("/auth/refresh", headers=JSON)).status_code == status
            time.pass_by(GRACE_SECONDS + 1)


async def disable(app: App, _time: MovableTime, person: SessionTokens) -> None:
    async with app.store.begin() as db:
        await disable_account(db, person.account.login, app.clock.now())


async def sign_out_everywhere(app: App, _time: MovableTime, person: SessionTokens) -> None:
    async with a_browser(app) as browser:
        browser.cookies.update(cookies_of(person))
        assert (await browser.delete("/api/v1/auth/sign-out-all", headers=JSON)).status_code == 200


async def revoke_from_another_browser(app: App, _time: MovableTime, person: SessionTokens) -> None:
    other = await admin_signed_in(app, person.account.login)
    async with a_browser(app) as browser:
        browser.headers.update(JSON)
        browser.cookies.update(cookies_of(other))
        listed = (await browser.get(SESSIONS)).json()["sessions"]
        (foreign,) = (each["id"] for each in listed if not each["isCurrent"])
        assert (await browser.delete(f"{SESSIONS}/{foreign}")).json() == {"ok": True}
        assert (await browser.delete(f"{SESSIONS}/{foreign}")).status_code == 404


ENDINGS = [sign_out, reuse_a_refresh_token, disable, sign_out_everywhere, revoke_from_another_browser]


@pytest.mark.parametrize("end", ENDINGS, ids=lambda each: each.__name__)
async def test_cookie_of_an_ended_session_changes_nothing(app: App, time: MovableTime, end: Ending) -> None:
    """G80: before, it could pause the queue as an administrator for up to 15 minutes."""
    person = await admin_signed_in(app)
    async with a_browser(app) as browser:
        browser.headers.update(JSON)
        browser.cookies.update(cookies_of(person))
        assert (await browser.get(AUDIT)).status_code == 200
        await end(app, time, person)
        browser.cookies.update(cookies_of(person))
        written = [
            await browser.post(PAUSE, json=BODY),
            await browser.post("/api/v1/submissions", json={"repoUrl": "https://github.com/acme/tools"}),
            await browser.get(AUDIT),
            await browser.get("/api/v1/account/tokens"),
            await browser.get(SESSIONS),
            await browser.delete("/api/v1/auth/sign-out-all"),
        ]
        assert {(answer.status_code, answer.json()["code"]) for answer in written} == {(401, "session_over")}
        assert (await browser.get("/api/v1/skills")).status_code == 200
        assert (await browser.get("/admin", headers={"accept": "text/html"})).headers[
            "location"
        ] == "/sign-in?next=%2Fadmin"
    async with app.store.begin() as db:
        assert await read_pause(db) is None


@pytest.mark.parametrize("role", [Role.USER, Role.MEMBER])
async def test_lost_role_is_effective_at_once(app: App, role: Role) -> None:
    """G80: the access token still names the former role."""
    reviewer = await with_role(app, "judge", Role.REVIEWER)
    async with a_browser(app) as browser:
        browser.headers.update(JSON)
        browser.cookies.update(cookies_of(reviewer))
        assert (await browser.get("/api/v1/admin/reviews")).status_code == 200
        async with app.store.begin() as db:
            await change_role(db, "judge", role, (), "root")
        answer = await browser.get("/api/v1/admin/reviews")
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


async def test_session_cannot_be_checked_without_the_database(app: App) -> None:
    """G65: writes and protected reads are 503, not allowed and not refused."""
    person = await admin_signed_in(app)
    async with a_browser(app) as browser:
        browser.headers.update(JSON)
        browser.cookies.update(cookies_of(person))
        app.store.breaker.is_open = True
        for answer in (await browser.get(AUDIT), await browser.post(PAUSE, json=BODY), await browser.get(SESSIONS)):
            assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable")
            assert "retry-after" in answer.headers
        assert (await browser.get("/auth/me")).json()["login"] == "root"


async def test_person_lists_and_ends_sessions(app: App, time: MovableTime) -> None:
    """Of this person only, with what they recognise a browser by."""
    other = await signed_in(app, "bob")
    async with a_browser(app) as browser:
        form = {"login": "root", "password": "correct horse battery staple"}
        for agent in ("Firefox\x07 on Linux" + "x" * 300, ""):
            await browser.post("/sign-in", data=form, headers={"user-agent": agent})
            time.pass_by(60)
        listed = (await browser.get(SESSIONS)).json()["sessions"]
        assert [each["isCurrent"] for each in listed] == [True, False]
        assert [each["userAgent"] for each in listed] == [None, "Firefox on Linux" + "x" * 184]
        assert set(listed[0]) == {"id", "createdAt", "lastUsedAt", "userAgent", "isCurrent"}
        time.pass_by(600)
        await browser.post("/auth/refresh", headers=JSON)
        renewed = (await browser.get(SESSIONS)).json()["sessions"]
        assert renewed[0]["lastUsedAt"] > listed[0]["lastUsedAt"]
        assert renewed[0]["createdAt"] == listed[0]["createdAt"]
        browser.cookies.clear()
        browser.cookies.update(cookies_of(other))
        refused = await browser.delete(f"{SESSIONS}/{listed[0]['id']}", headers={**JSON, **OURS})
        assert (refused.status_code, refused.json()["code"]) == (404, "session_not_found")
        assert len((await browser.get(SESSIONS)).json()["sessions"]) == 1
    assert await audit_of(app, "session_revoked") == []
