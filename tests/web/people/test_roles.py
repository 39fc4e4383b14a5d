"""Roles: granted by operators, kept by sign-ins, effective at once, and recorded."""

from typing import Any

import httpx
import pytest

from assay.accounts.sessions import SessionTokens
from assay.app.app import App
from assay.model.account import Role
from assay.store.operations.audit import list_audit
from tests.support.registry import SECRET
from tests.support.web.people import a_browser, admin_signed_in, cookies_of, signed_in, with_role, with_settings

ACCOUNTS, REVIEWS, AUDIT = "/api/v1/admin/accounts", "/api/v1/admin/reviews", "/api/v1/admin/audit"
JSON = {"accept": "application/json"}


async def as_person(app: App, person: SessionTokens | None, method: str, path: str, **given: Any) -> httpx.Response:
    async with a_browser(app) as browser:
        browser.cookies.update(cookies_of(person) if person else {})
        sent = JSON if person else {**JSON, "X-Internal-Key": SECRET}
        return await browser.request(method, path, headers=sent, **given)


async def set_role(app: App, person: SessionTokens | None, account: str, role: str) -> tuple[int, Any]:
    answer = await as_person(app, person, "PUT", f"{ACCOUNTS}/{account}/role", json={"role": role})
    return answer.status_code, answer.json().get("code", answer.json().get("role"))


async def test_reviewer_moderates_and_administers_nothing(app: App) -> None:
    """G77: pages and API; the navigation shows what the role allows."""
    reviewer = await with_role(app, "judge", Role.REVIEWER)
    for path, status in [
        (REVIEWS, 200),
        ("/api/v1/admin/reports", 200),
        ("/admin/reviews", 200),
        (AUDIT, 403),
        ("/admin", 403),
    ]:
        assert (await as_person(app, reviewer, "GET", path)).status_code == status, path
    async with a_browser(app) as browser:
        browser.cookies.update(cookies_of(reviewer))
        page = (await browser.get("/skills")).text
        assert ('href="/admin/reviews"' in page, 'href="/admin"' in page) == (True, False)
        assert 'href="/admin"' not in (await browser.get("/admin/reviews")).text


async def test_role_is_granted_listed_and_recorded(app: App) -> None:
    """By login or id, in any case; the next request has it."""
    admin, alice = await admin_signed_in(app), await signed_in(app, "Alice", github_id=7)
    assert (await as_person(app, alice, "GET", REVIEWS)).status_code == 403
    assert await set_role(app, admin, "alice", "REVIEWER") == (200, "REVIEWER")
    assert (await as_person(app, alice, "GET", REVIEWS)).status_code == 200
    listed = (await as_person(app, admin, "GET", ACCOUNTS)).json()
    assert [(each["login"], each["role"], each["signsInWith"]) for each in listed["accounts"]] == [
        ("root", "SUPER_ADMIN", "password"),
        ("Alice", "REVIEWER", "github"),
    ]
    number = listed["accounts"][1]["id"]
    assert await set_role(app, None, number, "USER") == (200, "USER")
    assert (await as_person(app, alice, "GET", REVIEWS)).status_code == 403
    found = (await as_person(app, admin, "GET", ACCOUNTS, params={"login": "ALICE"})).json()["accounts"]
    assert [(each["id"], each["role"]) for each in found] == [(number, "USER")]
    async with app.store.begin() as db:
        events = [each for each in await list_audit(db, None, 100) if each.action == "role_changed"]
    assert [(each.actor, each.subject, each.detail["from"], each.detail["to"]) for each in reversed(events)] == [
        ("root", "Alice", "USER", "REVIEWER"),
        ("internal key", "Alice", "REVIEWER", "USER"),
    ]


async def test_accounts_with_roles_are_listed_in_pages(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.web.people.roles.PAGE", 2)
    for login in ("a", "b", "c"):
        await with_role(app, login, Role.MEMBER)
    first = (await as_person(app, None, "GET", ACCOUNTS)).json()
    second = (await as_person(app, None, "GET", ACCOUNTS, params={"cursor": first["nextCursor"]})).json()
    assert [each["login"] for each in (*first["accounts"], *second["accounts"])] == ["root", "a", "b", "c"]
    assert second["nextCursor"] is None


async def test_sign_in_keeps_a_granted_role(app: App) -> None:
    """Only administrators of GitHub follow the settings."""
    await with_role(app, "judge", Role.REVIEWER)
    again = await signed_in(app, "judge")
    assert again.account.role is Role.REVIEWER
    promoted = await signed_in(app, "judge", admin=True)
    assert promoted.account.role is Role.SUPER_ADMIN
    named = with_settings(app, admin_logins=("judge",))
    assert (await as_person(named, promoted, "GET", AUDIT)).status_code == 200
    assert (await as_person(app, promoted, "GET", AUDIT)).status_code == 403
    assert (await signed_in(app, "judge")).account.role is Role.USER


async def test_roles_that_cannot_be_set(app: App) -> None:
    """Administrators of GitHub are named in the settings; own roles cannot be changed."""
    admin = await admin_signed_in(app)
    await signed_in(app, "boss")
    named = with_settings(app, admin_logins=("boss",))
    assert await set_role(app, admin, "boss", "SUPER_ADMIN") == (409, "role_of_settings")
    assert await set_role(named, admin, "boss", "USER") == (409, "role_of_settings")
    assert await set_role(app, admin, "root", "USER") == (409, "own_role")
    assert (await as_person(app, admin, "GET", AUDIT)).status_code == 200
    for unknown in ("nobody", "%00", "00000000-0000-0000-0000-000000000000"):
        assert await set_role(app, admin, unknown, "MEMBER") == (404, "account_not_found")
    assert (await set_role(app, admin, "boss", "OWNER"))[0] == 400


async def test_login_of_several_accounts_needs_an_id(app: App) -> None:
    """A password account and a GitHub account can have the same login."""
    await signed_in(app, "Root")
    answer = await as_person(app, None, "PUT", f"{ACCOUNTS}/root/role", json={"role": "MEMBER"})
    assert (answer.status_code, answer.json()["code"]) == (409, "ambiguous")
    found = (await as_person(app, None, "GET", ACCOUNTS, params={"login": "root"})).json()["accounts"]
    assert all(each["id"] in answer.json()["detail"] for each in found)
    (github,) = (each["id"] for each in found if each["signsInWith"] == "github")
    assert await set_role(app, None, github, "MEMBER") == (200, "MEMBER")


async def test_local_account_can_be_a_reviewer(app: App) -> None:
    """A person without GitHub, created by `assay admin create`."""
    admin, second = await admin_signed_in(app), await admin_signed_in(app, "second")
    assert await set_role(app, admin, "second", "REVIEWER") == (200, "REVIEWER")
    assert (await as_person(app, second, "GET", REVIEWS)).status_code == 200
    assert (await as_person(app, second, "GET", AUDIT)).status_code == 403
