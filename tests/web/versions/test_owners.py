"""Actions of owners and operators on a listing: permissions, effects and consistency."""

import asyncio
from typing import Any

import pytest
from litestar.types import ASGIApp

from assay.moderation.withdraw import status_reason, tombstone
from assay.store.operations.audit import list_audit
from assay.store.skills.locks import lock_skill
from assay.store.skills.names import rename_listing
from assay.web.app import create_app
from tests.support.archives import a_zip
from tests.support.catalogue import agree, changes, gone, publish, read
from tests.support.processes import until
from tests.support.registry import Registry
from tests.support.skills import a_skill
from tests.support.web.owners import KEY, WHY, ask
from tests.support.web.people import a_browser, audit_of, cookies_of, signed_in
from tests.support.web.submissions import refused

pytestmark = pytest.mark.process


async def refuse(registry: Registry, name: str, what: str, status: int, code: str, body: Any = WHY) -> None:
    """Send the request and expect an error."""
    answer = await registry.client.post(f"/api/v1/skills/{name}/{what}", json=body, headers=KEY)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


async def test_yanking_falls_back_to_the_previous_version(registry: Registry) -> None:
    """G52: version, description and search; unyanking restores the newest."""
    name = await publish(registry, "acme/tools", "Says hello.", "Says goodbye.", "Says nothing.")
    entry = await ask(registry, name, "versions/1.0.2/yank")
    assert (entry["status"], entry["reason"]["code"], entry["reason"]["message"]) == (
        "yanked", "yanked", "It deletes too much.",
    )  # fmt: skip
    listing = await read(registry, name)
    assert (listing["skill"]["currentVersion"], listing["skill"]["description"]) == ("1.0.1", "Says goodbye.")
    assert [each["status"] for each in listing["versions"]] == ["yanked", "live", "live"]
    found = await registry.client.get("/api/v1/skills/search", params={"q": "nothing"})
    assert found.json()["results"] == []
    await agree(registry, name)
    await refuse(registry, name, "versions/1.0.2/yank", 409, "version_taken_back")
    await refuse(registry, name, "versions/1.0.0/unyank", 409, "version_not_yanked")
    await refuse(registry, name, "versions/9.9.9/yank", 404, "version_not_found")
    assert (await ask(registry, name, "versions/1.0.2/unyank"))["status"] == "live"
    assert (await read(registry, name))["skill"]["description"] == "Says nothing."
    assert [each["kind"] for each in await changes(registry)] == ["publish", "version", "version", "yank", "unyank"]
    assert await audit_of(registry.app, "version_yanked", "version_unyanked") == [
        ("internal key", "version_yanked", name),
        ("internal key", "version_unyanked", name),
    ]


async def test_yanking_an_older_version_keeps_the_live_one(registry: Registry) -> None:
    """Also if the live version is not the newest because its content returned."""
    name = await publish(registry, "acme/tools", "One.", "Two.", "Three.", "One.")
    assert (await read(registry, name))["skill"]["currentVersion"] == "1.0.0"
    await ask(registry, name, "versions/1.0.2/yank")
    assert (await read(registry, name))["skill"]["currentVersion"] == "1.0.0"
    await ask(registry, name, "versions/1.0.0/yank")
    assert (await read(registry, name))["skill"]["currentVersion"] == "1.0.1"


async def test_yanking_the_last_version_takes_down_the_listing(registry: Registry) -> None:
    """Exact versions stay available; unyanking restores the listing."""
    name = await publish(registry, "acme/tools", "Says hello.")
    await ask(registry, name, "versions/1.0.0/yank")
    problem = await gone(registry, name)
    assert (problem["code"], problem["reason"]) == ("skill_withdrawn", "It deletes too much.")
    assert problem["since"]
    await agree(registry)
    assert (await registry.client.get(f"/api/v1/skills/{name}/versions/1.0.0")).status_code == 200
    assert (await registry.client.get(f"/api/v1/skills/{name}/versions/latest")).status_code == 410
    # Submitting its content again yields the same, yanked version.
    again = await registry.submit("acme/tools", "greet")
    await registry.work()
    assert (await registry.read(again["id"]))["reason"]["code"] == "version_yanked"
    await ask(registry, name, "versions/1.0.0/unyank")
    await agree(registry, name)
    await ask(registry, name, "versions/1.0.0/yank")
    # A new version also restores the listing.
    await publish(registry, "acme/tools", "Says hello politely.")
    assert (await read(registry, name))["skill"]["currentVersion"] == "1.0.1"
    await agree(registry, name)


async def test_withdrawn_version_is_unavailable(registry: Registry) -> None:
    """Also by its number; only an operator can withdraw, and it cannot be unyanked."""
    name = await publish(registry, "acme/tools", "Says hello.", "Says goodbye.")
    route = f"/api/v1/admin/skills/{name}/versions/1.0.1/withdraw"
    assert (await registry.client.post(route, json=WHY)).status_code == 401
    answer = await registry.client.post(route, json={"reason": "It steals keys."}, headers=KEY)
    assert answer.status_code == 200, answer.text
    assert (answer.json()["standing"], answer.json()["currentVersion"]) == ("live", "1.0.0")
    assert await audit_of(registry.app, "version_withdrawn") == [("internal key", "version_withdrawn", name)]
    again = await registry.client.post(route, json=WHY, headers=KEY)
    assert (again.status_code, again.json()["code"]) == (409, "version_taken_back")
    for path in ("", "/files", "/files/SKILL.md", "/download"):
        answer = await registry.client.get(f"/api/v1/skills/{name}/versions/1.0.1{path}")
        assert (answer.status_code, answer.json()["code"]) == (410, "version_withdrawn")
        assert answer.json()["reason"] == "It steals keys."
    await refuse(registry, name, "versions/1.0.1/unyank", 409, "version_not_yanked")
    await agree(registry, name)


async def test_deprecation_is_shown_and_reversible(registry: Registry) -> None:
    """The version stays live."""
    name = await publish(registry, "acme/tools", "Says hello.")
    entry = await ask(registry, name, "versions/1.0.0/deprecate", {"reason": "Use  the\nother one."})
    assert (entry["deprecated"], entry["deprecation"]["message"]) == (True, "Use the other one.")
    assert (await read(registry, name))["skill"]["deprecation"]["message"] == "Use the other one."
    entry = await ask(registry, name, "versions/1.0.0/undeprecate")
    assert (entry["deprecated"], entry["deprecation"]) == (False, None)
    await refuse(registry, name, "versions/1.0.0/undeprecate", 409, "version_not_deprecated")
    assert [each["kind"] for each in await changes(registry, "deprecate", "undeprecate")] == [
        "deprecate", "undeprecate",
    ]  # fmt: skip
    await agree(registry, name)


async def test_tags_point_to_versions(registry: Registry) -> None:
    """A tag on an unavailable version is not resolved."""
    name = await publish(registry, "acme/tools", "Says hello.", "Says goodbye.")
    url = f"/api/v1/skills/{name}/tags/stable"
    answer = await registry.client.put(url, json={"version": "1.0.0"}, headers=KEY)
    assert answer.json() == {"name": name, "tags": {"stable": "1.0.0"}}
    tagged = (await registry.client.get(f"/api/v1/skills/{name}/versions/stable")).json()
    assert (tagged["version"], tagged["tags"]) == ("1.0.0", ["stable"])
    assert (await read(registry, name))["tags"] == {"stable": "1.0.0"}
    for tag in ("latest", "1.0.0", "UPPER", "x" * 41):
        refused(
            await registry.client.put(f"/api/v1/skills/{name}/tags/{tag}", json={"version": "1.0.0"}, headers=KEY),
            400,
            "tag must",
        )
    await ask(registry, name, "versions/1.0.0/yank")
    assert (await registry.client.get(f"/api/v1/skills/{name}/versions/stable")).json()["code"] == "version_yanked"
    answer = await registry.client.put(url, json={"version": "1.0.0"}, headers=KEY)
    assert (answer.status_code, answer.json()["code"]) == (409, "version_taken_back")
    assert (await registry.client.delete(url, headers=KEY)).json()["tags"] == {}
    assert (await registry.client.delete(url, headers=KEY)).json()["code"] == "tag_not_found"


async def test_owner_unlists_and_relists(registry: Registry) -> None:
    """With the reason everywhere; the name stays reserved; only unlisted listings can be relisted."""
    name = await publish(registry, "acme/tools", "Says hello.", "Says goodbye.")
    await refuse(registry, name, "relist", 409, "not_restorable")
    standing = await ask(registry, name, "unlist", {"reason": "Not ready yet."})
    assert (standing["standing"], standing["reason"]["message"]) == ("unlisted", "Not ready yet.")
    assert (await gone(registry, name))["reason"] == "Not ready yet."
    await agree(registry)
    await refuse(registry, name, "unlist", 409, "not_live")
    page = await registry.client.get(f"/skills/{name}", headers={"accept": "text/html"})
    assert page.status_code == 410
    assert "Not ready yet." in page.text
    # A version yanked meanwhile is not restored.
    await ask(registry, name, "versions/1.0.1/yank")
    await ask(registry, name, "versions/1.0.0/yank")
    await refuse(registry, name, "relist", 409, "no_usable_version")
    await ask(registry, name, "versions/1.0.0/unyank")
    assert (await gone(registry, name))["code"] == "skill_unlisted"
    assert (await ask(registry, name, "relist"))["currentVersion"] == "1.0.0"
    await agree(registry, name)
    async with registry.app.store.begin() as db:
        await tombstone(
            db, name, status_reason("source_gone", "The repository is gone.", at=registry.app.clock.now(), by="w")
        )
    assert (await gone(registry, name))["code"] == "skill_gone"
    await refuse(registry, name, "relist", 409, "not_restorable")


async def test_rescan_uses_the_one_admission(registry: Registry) -> None:
    """G52: the live version stays; unchanged content creates no version."""
    name = await publish(registry, "acme/tools", "Says hello.")
    accepted = await ask(registry, name, "reindex", None)
    assert (accepted["state"], accepted["alreadyVerified"]) == ("RECEIVED", True)
    assert (await ask(registry, name, "reindex", None))["duplicate"]
    assert (await read(registry, name))["skill"]["currentVersion"] == "1.0.0"
    await registry.work()
    assert len((await read(registry, name))["versions"]) == 1


@pytest.fixture
async def site(registry: Registry) -> ASGIApp:
    """Return the application that browsers use."""
    return create_app(registry.app)


@pytest.mark.parametrize(
    ("login", "may"),
    [("acme", True), ("ACME", True), ("acme-inc", False), ("mallory", False), ("tools", False)],
)
async def test_only_the_repository_owner_may_change_a_listing(
    registry: Registry, site: ASGIApp, login: str, may: bool
) -> None:
    """G79: matched by GitHub login in any case."""
    name = await publish(registry, "Acme/Tools", "Says hello.")
    person = await signed_in(registry.app, login)
    async with a_browser(site) as browser:
        browser.cookies.update(cookies_of(person))
        answer = await browser.post(f"/api/v1/skills/{name}/versions/1.0.0/deprecate", json=WHY)
        assert answer.status_code == (200 if may else 403), answer.text
        if not may:
            assert answer.json()["code"] == "not_owner"
            for what in ("yank", "unyank", "undeprecate"):
                assert (await browser.post(f"/api/v1/skills/{name}/versions/1.0.0/{what}", json=WHY)).status_code == 403
            for what in ("unlist", "relist"):
                assert (await browser.post(f"/api/v1/skills/{name}/{what}", json=WHY)).status_code == 403
            assert (await browser.post(f"/api/v1/skills/{name}/reindex")).status_code == 403
            assert (await browser.put(f"/api/v1/skills/{name}/tags/x", json={"version": "1.0.0"})).status_code == 403
            assert (await browser.delete(f"/api/v1/skills/{name}/tags/x")).status_code == 403
            assert await audit_of(registry.app, "version_yanked", "skill_unlisted") == []
            await agree(registry, name)


async def test_owner_unlists_and_relists_on_the_page(registry: Registry) -> None:
    """G79: the form is shown to the owner only and rejects others."""
    name = await publish(registry, "acme/tools", "Says hello.")
    page, form, why = f"/skills/{name}", {"reason": "It moves house."}, "It moves house."
    assert (await registry.client.post(f"{page}/unlist", data=form)).status_code == 401
    async with a_browser(registry.app) as stranger, a_browser(registry.app) as owner:
        stranger.cookies.update(cookies_of(await signed_in(registry.app, "alice")))
        owner.cookies.update(cookies_of(await signed_in(registry.app, "acme")))
        assert f'action="{page}/unlist"' not in (await stranger.get(page)).text
        assert (await stranger.post(f"{page}/unlist", data=form)).status_code == 403
        assert f'action="{page}/unlist"' in (await owner.get(page)).text
        assert (await owner.post(f"{page}/unlist", data={"reason": " "})).status_code == 400
        taken = await owner.post(f"{page}/unlist", data=form)
        assert (taken.status_code, taken.headers["location"]) == (303, page)
        gone = await owner.get(page)
        assert (gone.status_code, why in gone.text, f'action="{page}/relist"' in gone.text) == (410, True, True)
        assert "/relist" not in (await registry.client.get(page, headers={"Accept": "text/html"})).text
        await agree(registry)
        assert (await stranger.post(f"{page}/relist", data=form)).status_code == 403
        assert (await owner.post(f"{page}/relist", data=form)).status_code == 303
        assert (await owner.get(page)).status_code == 200
    await agree(registry, name)
    assert await audit_of(registry.app, "skill_unlisted", "skill_restored") == [
        ("acme", "skill_unlisted", name), ("acme", "skill_restored", name),
    ]  # fmt: skip


CHANGES = [
    ("POST", "/api/v1/skills/{}/versions/1.0.0/yank", {"json": WHY}),
    ("POST", "/api/v1/skills/{}/versions/1.0.0/deprecate", {"json": WHY}),
    ("PUT", "/api/v1/skills/{}/tags/stable", {"json": {"version": "1.0.0"}}),
    ("POST", "/api/v1/skills/{}/unlist", {"json": WHY}),
    ("POST", "/skills/{}/unlist", {"data": WHY}),
]
TAKEN_BACK = [
    ("POST", "/api/v1/skills/{}/versions/1.0.0/unyank", {"json": WHY}, "yank"),
    ("POST", "/api/v1/skills/{}/versions/1.0.0/undeprecate", {"json": WHY}, "deprecate"),
    ("DELETE", "/api/v1/skills/{}/tags/stable", {}, "tag"),
    ("POST", "/api/v1/skills/{}/relist", {"json": WHY}, "unlist"),
    ("POST", "/skills/{}/relist", {"data": WHY}, "unlist"),
]


async def prepare(registry: Registry, name: str, what: str | None) -> None:
    """Bring a listing into the state that the action reverses."""
    if what == "tag":
        url = f"/api/v1/skills/{name}/tags/stable"
        assert (await registry.client.put(url, json={"version": "1.0.0"}, headers=KEY)).status_code == 200
    elif what is not None:
        await ask(registry, name, what if what == "unlist" else f"versions/1.0.0/{what}")


@pytest.mark.parametrize(("method", "path", "sent", "before"), [(*each, None) for each in CHANGES] + TAKEN_BACK)
async def test_owner_action_applies_to_the_listing_that_was_checked(
    registry: Registry, site: ASGIApp, method: str, path: str, sent: dict[str, Any], before: str | None
) -> None:
    """G54, G79: the name moves to another listing between the check and the change."""
    mine, others = await publish(registry, "acme/tools", "Mine."), await publish(registry, "mallory/kit", "Theirs.")
    for name in (mine, others):
        await prepare(registry, name, before)
    async with a_browser(site) as browser, registry.app.store.begin() as db:
        browser.cookies.update(cookies_of(await signed_in(registry.app, "acme")))
        await rename_listing(db, await lock_skill(db, mine), "umbrella/tools/greet")
        await rename_listing(db, await lock_skill(db, others), mine)
        asking = asyncio.create_task(browser.request(method, path.format(mine), headers={"accept": "*/*"}, **sent))
        await until(lambda: waits_for_a_lock(registry))
        await db.commit()
        answer = await asking
    assert (answer.status_code, answer.json()["code"]) == (409, "renamed"), answer.text
    async with registry.app.store.begin() as db:
        told = [(each.actor, each.action) for each in await list_audit(db, None, 100) if each.actor == "acme"]
    assert [action for _, action in told if not action.startswith(("sign_in", "account_", "handle_"))] == []


async def waits_for_a_lock(registry: Registry) -> bool:
    """Return whether a transaction waits for a lock."""
    async with registry.app.store.begin() as db:
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity "
        found = await db.exec_driver_sql(f"{waiting} WHERE datname = current_database())")
        return bool(found.scalar_one())


async def test_owner_actions_require_an_account(registry: Registry) -> None:
    """G79: 401 before anything is read."""
    name = await publish(registry, "acme/tools", "Says hello.")
    answer = await registry.client.post(f"/api/v1/skills/{name}/versions/1.0.0/yank", json=WHY)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


async def test_uploader_owns_the_upload(registry: Registry, site: ASGIApp) -> None:
    """An account whose login is the name of the operator's namespace does not get that namespace."""
    async with a_browser(site) as alice, a_browser(site) as local:
        alice.cookies.update(cookies_of(await signed_in(registry.app, "alice")))
        local.cookies.update(cookies_of(await signed_in(registry.app, "local")))
        archive = {"archive": ("greet.zip", a_zip({"greet/SKILL.md": a_skill("greet")}))}
        answer = await alice.post("/api/v1/submissions/upload", files=archive)
        assert answer.status_code == 201, answer.text
        await registry.work()
        page = (await alice.get("/skills/alice/uploads/greet")).text
        assert ("vskill install" in page, "Download zip" in page, "has no repository to install from" in page) == (
            False, True, True,
        )  # fmt: skip
        url = "/api/v1/skills/alice/uploads/greet/unlist"
        assert (await local.post(url, json=WHY)).status_code == 403
        assert (await alice.post(url, json=WHY)).status_code == 200


async def test_submitter_of_a_foreign_repository_may_only_request_a_rescan(registry: Registry, site: ASGIApp) -> None:
    """G79."""
    registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    name = "acme/tools/greet"
    async with a_browser(site) as finder:
        finder.cookies.update(cookies_of(await signed_in(registry.app, "finder")))
        body = {"repoUrl": f"{registry.web_url}/acme/tools", "skillName": "greet"}
        assert (await finder.post("/api/v1/submissions", json=body)).status_code == 201
        await registry.work()
        for what in ("unlist", "relist", "versions/1.0.0/yank", "versions/1.0.0/deprecate"):
            answer = await finder.post(f"/api/v1/skills/{name}/{what}", json=WHY)
            assert (answer.status_code, answer.json()["code"]) == (403, "not_owner")
        assert (await finder.put(f"/api/v1/skills/{name}/tags/x", json={"version": "1.0.0"})).status_code == 403
        assert (await finder.post(f"/api/v1/skills/{name}/reindex")).status_code == 200
        await registry.work()
    await agree(registry, name)


@pytest.mark.parametrize("body", [{}, {"reason": ""}, {"reason": "  x  "}, {"reason": "x" * 1001}, {"why": "So."}])
async def test_status_changes_require_a_reason(registry: Registry, body: dict[str, str]) -> None:
    """G13."""
    name = await publish(registry, "acme/tools", "Says hello.")
    for what in ("versions/1.0.0/yank", "versions/1.0.0/deprecate", "unlist"):
        answer = await registry.client.post(f"/api/v1/skills/{name}/{what}", json=body, headers=KEY)
        assert answer.status_code == 400, answer.text
    await agree(registry, name)
