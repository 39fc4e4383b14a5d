"""Namespaces: who may use a name, and how that is proved."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from assay.settings import Settings
from tests.support.archives import a_zip
from tests.support.catalogue import changes, publish, read
from tests.support.fake_github import FakeGitHub
from tests.support.registry import Registry, open_registry
from tests.support.skills import a_skill
from tests.support.web.oauth import CALLBACK, CLIENT_ID, CLIENT_SECRET
from tests.support.web.owners import KEY, WHY
from tests.support.web.people import MovableTime, a_browser, a_token, an_admin, audit_of, bearer, cookies_of, signed_in

pytestmark = pytest.mark.process

UPLOAD = "/api/v1/submissions/upload"


async def upload(registry: Registry, text: str, headers: dict[str, str], **fields: str) -> httpx.Response:
    """Upload the skill `table-maker` with this description."""
    archive = a_zip({"table-maker/SKILL.md": a_skill("table-maker", description=text)})
    return await registry.client.post(UPLOAD, files={"archive": ("t.zip", archive)}, data=fields, headers=headers)


async def refused(registry: Registry, submission: dict[str, Any]) -> str | None:
    """Process everything and return the reason code of a submission."""
    await registry.work()
    detail = await registry.read(submission["id"])
    return detail["reason"]["code"] if detail["reason"] else None


@asynccontextmanager
async def a_person(registry: Registry, login: str, **given: Any) -> AsyncIterator[httpx.AsyncClient]:
    """Return the browser of a signed-in person."""
    async with a_browser(registry.app) as browser:
        browser.cookies.update(cookies_of(await signed_in(registry.app, login, **given)))
        yield browser


async def test_uploads_live_in_the_namespace_of_the_uploader(registry: Registry) -> None:
    """G104: no one else can publish the next version, with or without an account."""
    alice, bob = bearer(await a_token(registry.app, "Alice")), bearer(await a_token(registry.app, "bob"))
    assert (await upload(registry, "Makes tables.", alice)).status_code == 201
    assert (await upload(registry, "Steals tables.", bob)).status_code == 201
    anonymous = await upload(registry, "Steals tables anonymously.", {})
    assert (anonymous.status_code, anonymous.json()["code"]) == (401, "unauthenticated")
    await registry.work()
    mine = await read(registry, "alice/uploads/table-maker")
    assert (mine["skill"]["description"], mine["skill"]["currentVersion"]) == ("Makes tables.", "1.0.0")
    assert (await read(registry, "bob/uploads/table-maker"))["skill"]["description"] == "Steals tables."


async def test_upload_to_a_namespace_of_someone_else_is_refused(registry: Registry) -> None:
    alice, bob = bearer(await a_token(registry.app, "alice")), bearer(await a_token(registry.app, "bob"))
    await upload(registry, "Makes tables.", alice)
    for name in ("alice", "ALICE", "local", "no-such-namespace", "alice/uploads", "\x00"):
        answer = await upload(registry, "Steals tables.", bob, namespace=name)
        assert (answer.status_code, answer.json()["code"]) == (403, "not_owner"), name


async def test_internal_key_uploads_to_the_namespace_of_the_operator(registry: Registry) -> None:
    assert (await upload(registry, "Makes tables.", KEY)).status_code == 201
    await registry.work()
    assert (await read(registry, "local/uploads/table-maker"))["skill"]["author"] == "local"


async def test_author_is_the_owner_and_the_claim_is_only_a_claim(registry: Registry) -> None:
    """G105: `author: Anthropic` in the front matter is not shown as the author."""
    text = a_skill("greet").replace("name: greet", "name: greet\nauthor: Anthropic")
    registry.github.add_repository("mallory/kit", files={"SKILL.md": text})
    await registry.submit("mallory/kit", "greet")
    await registry.work()
    skill = (await read(registry, "mallory/kit/greet"))["skill"]
    assert (skill["author"], skill["claimedAuthor"]) == ("mallory", "Anthropic")
    page = (await registry.client.get("/skills/mallory/kit/greet", headers={"Accept": "text/html"})).text
    assert "claims to be by Anthropic" in page


async def test_stranger_cannot_bind_a_name_to_another_folder(registry: Registry) -> None:
    """G106: the name must be that of the folder or of the front matter."""
    files = {"skills/pdf/SKILL.md": a_skill("pdf"), "fixtures/other/SKILL.md": a_skill("other")}
    registry.github.add_repository("owner-b/skills", files=files)
    wrong = await registry.submit("owner-b/skills", "pdf", "fixtures/other/SKILL.md")
    assert await refused(registry, wrong) == "name_mismatch"
    right = await registry.submit("owner-b/skills", "pdf", "skills/pdf/SKILL.md")
    assert await refused(registry, right) is None


@pytest.mark.parametrize("name", ["tools", "Tools", "fancy tool", "plugin-tools", "tools-2"])
async def test_names_of_folder_and_front_matter_are_accepted(registry: Registry, name: str) -> None:
    files = {"plugins/plugin/skills/tools/SKILL.md": a_skill("Fancy Tool")}
    registry.github.add_repository("acme/kit", files=files)
    submitted = await registry.submit("acme/kit", name, "plugins/plugin/skills/tools/SKILL.md")
    assert await refused(registry, submitted) is None


async def test_owner_and_administrator_choose_names_freely(registry: Registry) -> None:
    files = {"a/SKILL.md": a_skill("a-skill"), "b/SKILL.md": a_skill("b-skill")}
    registry.github.add_repository("acme/kit", files=files)
    url = f"{registry.web_url}/acme/kit"
    owner = bearer(await a_token(registry.app, "acme"))
    for headers, name, path in ((owner, "chosen", "a/SKILL.md"), (KEY, "other-name", "b/SKILL.md")):
        body = {"repoUrl": url, "skillName": name, "skillPath": path}
        answer = await registry.client.post("/api/v1/submissions", json=body, headers=headers)
        assert await refused(registry, answer.json()) is None
        assert (await read(registry, f"acme/kit/{name}"))["skill"]["skillPath"] == path


async def test_owner_displaces_the_binding_of_a_stranger(registry: Registry) -> None:
    """G106: a fixture whose front matter has the name is listed first; the owner gets the name back."""
    files = {"skills/pdf/SKILL.md": a_skill("pdf"), "fixtures/other/SKILL.md": a_skill("pdf", "A fixture.")}
    registry.github.add_repository("owner-b/skills", files=files)
    assert await refused(registry, await registry.submit("owner-b/skills", "pdf", "fixtures/other/SKILL.md")) is None
    body = {"repoUrl": f"{registry.web_url}/owner-b/skills", "skillName": "pdf", "skillPath": "skills/pdf/SKILL.md"}
    owner = bearer(await a_token(registry.app, "owner-b"))
    answer = await registry.client.post("/api/v1/submissions", json=body, headers=owner)
    assert await refused(registry, answer.json()) is None
    assert (await read(registry, "owner-b/skills/pdf"))["skill"]["skillPath"] == "skills/pdf/SKILL.md"
    assert (await read(registry, "owner-b/skills/other"))["skill"]["skillPath"] == "fixtures/other/SKILL.md"
    renamed = await changes(registry, "rename")
    assert [(each["data"]["from"], each["data"]["name"]) for each in renamed] == [
        ("owner-b/skills/pdf", "owner-b/skills/other")
    ]
    # A stranger cannot take it again.
    body["skillPath"] = "fixtures/other/SKILL.md"
    again = await registry.client.post("/api/v1/submissions", json=body)
    await registry.work()
    assert (await read(registry, "owner-b/skills/pdf"))["skill"]["skillPath"] == "skills/pdf/SKILL.md"
    assert again.status_code in (200, 201)


async def test_owner_renames_a_folder_that_a_stranger_submitted(registry: Registry) -> None:
    registry.github.add_repository("owner-b/skills", files={"fixtures/other/SKILL.md": a_skill("other")})
    assert await refused(registry, await registry.submit("owner-b/skills", "other", "fixtures/other/SKILL.md")) is None
    body = {
        "repoUrl": f"{registry.web_url}/owner-b/skills",
        "skillName": "nice",
        "skillPath": "fixtures/other/SKILL.md",
    }
    owner = bearer(await a_token(registry.app, "owner-b"))
    answer = await registry.client.post("/api/v1/submissions", json=body, headers=owner)
    assert await refused(registry, answer.json()) is None
    assert (await read(registry, "owner-b/skills/nice"))["skill"]["skillPath"] == "fixtures/other/SKILL.md"
    moved = await registry.client.get("/skills/owner-b/skills/other")
    assert (moved.status_code, moved.headers["location"]) == (301, "/skills/owner-b/skills/nice")


async def test_ownership_follows_the_numeric_id(registry: Registry) -> None:
    """G105: an account that registers a freed login does not own the listings of its former holder."""
    name = await publish(registry, "owner-a/skills", "Says hello.")
    async with a_person(registry, "owner-a", github_id=666) as newcomer:
        answer = await newcomer.post(f"/api/v1/skills/{name}/unlist", json=WHY)
        assert (answer.status_code, answer.json()["code"]) == (403, "not_owner")
        assert (await newcomer.get("/api/v1/account")).json()["handle"] is None
    async with a_person(registry, "renamed", github_id=registry.github.id_of_login("owner-a")) as owner:
        assert (await owner.post(f"/api/v1/skills/{name}/unlist", json=WHY)).status_code == 200


async def test_former_holder_of_a_login_does_not_own_the_new_holders_listings(registry: Registry) -> None:
    """G105, the other way round."""
    async with a_person(registry, "owner-a", github_id=20) as former:
        registry.github.owner_ids["owner-a"] = 666
        name = await publish(registry, "owner-a/skills", "Says hello.")
        answer = await former.post(f"/api/v1/skills/{name}/unlist", json=WHY)
        assert (answer.status_code, answer.json()["code"]) == (403, "not_owner")


async def test_private_repositories_stay_hidden(registry: Registry, github: FakeGitHub) -> None:
    """G107: the operator's token must not reveal a private repository."""
    token = github.add_token("ghp_operator")
    files = {"skills/launch/SKILL.md": a_skill("launch")}
    github.add_repository("secretcorp/internal", files=files, private=True, readers=[token])
    settings = registry.app.settings.model_copy(update={"github_tokens": (SecretStr(token),)})
    async with open_registry(settings, github) as with_token:
        url = f"{with_token.web_url}/secretcorp/internal"
        for path in ("/api/v1/submissions/discover", "/api/v1/submissions"):
            answer = await with_token.client.post(path, json={"repoUrl": url})
            assert (answer.status_code, answer.json()["code"]) == (404, "source_not_found"), path
            assert "launch" not in answer.text
        named = {"repoUrl": url, "skillName": "launch", "skillPath": "skills/launch/SKILL.md"}
        answer = await with_token.client.post("/api/v1/submissions", json=named)
        await with_token.work()
        detail = (await with_token.client.get(f"/api/v1/submissions/{answer.json()['id']}")).json()
        assert (detail["state"], detail["reason"]["code"]) == ("REJECTED", "source_not_found")


async def test_owner_renames_moves_deletes_and_restores(registry: Registry) -> None:
    """Old names lead to the listing, and its hallmark stays valid."""
    admin = await an_admin(registry.app, "warden")
    token = bearer(await a_token(registry.app, "alice"))
    await upload(registry, "Makes tables.", token)
    await registry.work()
    url = "/api/v1/skills/alice/uploads/table-maker"
    renamed = await registry.client.post(f"{url}/rename", json={"name": "Table Tool"}, headers=token)
    assert (renamed.status_code, renamed.json()["name"]) == (200, "alice/uploads/table-tool")
    assert (await read(registry, "alice/uploads/table-maker"))["skill"]["name"] == "alice/uploads/table-tool"
    answer = await registry.client.post(f"{url}/move", json={"namespace": admin}, headers=token)
    assert (answer.status_code, answer.json()["code"]) == (403, "not_owner")
    moved = await registry.client.post(f"{url}/move", json={"namespace": admin}, headers=KEY)
    assert (moved.status_code, moved.json()["name"]) == (200, "warden/uploads/table-tool")
    for name in ("alice/uploads/table-maker", "alice/uploads/table-tool"):
        assert (await read(registry, name))["skill"]["name"] == "warden/uploads/table-tool"
    deleted = await registry.client.delete("/api/v1/skills/warden/uploads/table-tool", headers=KEY)
    assert (deleted.status_code, deleted.json()["standing"]) == (200, "deleted")
    gone = await registry.client.get("/api/v1/skills/warden/uploads/table-tool")
    assert (gone.status_code, gone.json()["code"]) == (410, "skill_deleted")
    back = await registry.client.post("/api/v1/skills/warden/uploads/table-tool/undelete", json=WHY, headers=KEY)
    assert (back.status_code, back.json()["standing"]) == (200, "live")


async def test_upload_races_a_move(registry: Registry) -> None:
    """The outcome is that of a serial order: the version is in the old place before the move, or in a new listing."""
    await an_admin(registry.app, "warden")
    token = bearer(await a_token(registry.app, "alice"))
    for number in range(5):
        name = f"tool-{number}"
        archive = a_zip({f"{name}/SKILL.md": a_skill(name)})
        await registry.client.post(UPLOAD, files={"archive": ("t.zip", archive)}, headers=token)
        await registry.work()
        newer = a_zip({f"{name}/SKILL.md": a_skill(name, description="Another text.")})
        url = f"/api/v1/skills/alice/uploads/{name}/move"
        uploaded, moved = await asyncio.gather(
            registry.client.post(UPLOAD, files={"archive": ("t.zip", newer)}, headers=token),
            registry.client.post(url, json={"namespace": "warden"}, headers=KEY),
        )
        await registry.work()
        assert uploaded.status_code in (200, 201), uploaded.text
        names = {each["name"] for each in (await registry.client.get("/api/v1/skills?limit=100")).json()["skills"]}
        if moved.status_code == 409:  # the upload was first, and the move was refused
            assert (await read(registry, f"alice/uploads/{name}"))["skill"]["currentVersion"] == "1.0.1"
        else:
            assert moved.status_code == 200, moved.text
            assert {f"warden/uploads/{name}", f"alice/uploads/{name}"} <= names


async def test_two_accounts_claim_one_handle(registry: Registry) -> None:
    """Exactly one of them gets it."""
    people = [cookies_of(await signed_in(registry.app, f"person_{number}")) for number in range(6)]
    async with a_browser(registry.app) as browser:

        async def claim(cookies: dict[str, str]) -> int:
            header = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
            answer = await browser.put("/api/v1/account/handle", json={"handle": "wanted"}, headers=header)
            return answer.status_code

        codes = await asyncio.gather(*map(claim, people))
    assert sorted(codes) == [200, *[409] * 5]


async def test_handle_of_another_github_user_is_refused(registry: Registry) -> None:
    registry.github.owner_ids["famous"] = 4711
    async with a_person(registry, "some_body") as person:
        answer = await person.put("/api/v1/account/handle", json={"handle": "Famous"})
        assert (answer.status_code, answer.json()["code"]) == (409, "handle_taken")
        for bad in ("-x", "x-", "a" * 40, "ä", "a/b", "a.b"):
            answer = await person.put("/api/v1/account/handle", json={"handle": bad})
            assert (answer.status_code, answer.json()["code"]) == (400, "bad_handle"), bad


async def test_challenge_file_proves_control_of_a_repository(registry: Registry) -> None:
    """G105: the proof covers that repository, not the rest of the namespace."""
    name = await publish(registry, "acme/tools", "Says hello.")
    other = await publish(registry, "acme/more", "Says hello again.")
    token, url = bearer(await a_token(registry.app, "maintainer")), {"repoUrl": f"{registry.web_url}/acme/tools"}
    challenge = (await registry.client.get("/api/v1/namespaces/challenge", params=url, headers=token)).json()
    failed = await registry.client.post("/api/v1/namespaces/challenge", json=url, headers=token)
    assert (failed.status_code, failed.json()["code"]) == (409, "challenge_failed")
    repository, _ = registry.github.directory.find("acme/tools")
    assert repository is not None
    repository.push({challenge["path"]: "proof"})
    claimed = await registry.client.post("/api/v1/namespaces/challenge", json=url, headers=token)
    assert (claimed.status_code, claimed.json()["name"]) == (200, "acme")
    assert (await registry.client.post(f"/api/v1/skills/{name}/unlist", json=WHY, headers=token)).status_code == 200
    assert (await registry.client.post(f"/api/v1/skills/{other}/unlist", json=WHY, headers=token)).status_code == 403
    # The path is the account's own: another account cannot use it.
    thief = bearer(await a_token(registry.app, "thief"))
    answer = await registry.client.post("/api/v1/namespaces/challenge", json=url, headers=thief)
    assert (answer.status_code, answer.json()["code"]) == (409, "challenge_failed")
    assert await audit_of(registry.app, "namespace_claimed") == [("maintainer", "namespace_claimed", "acme")]


async def test_member_claims_an_organisation(settings: Settings, github: FakeGitHub, time: MovableTime) -> None:
    github.add_oauth_app(CLIENT_ID, CLIENT_SECRET, CALLBACK)
    set_up = {"oauth_client_id": CLIENT_ID, "oauth_client_secret": SecretStr(CLIENT_SECRET)}
    async with open_registry(settings.model_copy(update=set_up), github, time.clock) as registry:
        name = await publish(registry, "acme/tools", "Says hello.")
        for login, number, state, expected in (
            ("In", 7, "active", 200),
            ("Out", 8, None, 403),
            ("New", 9, "pending", 403),
        ):
            github.sign_in_as(number, login)
            if state is not None:
                github.oauth.memberships["acme", number] = state
            async with a_browser(registry.app) as browser:
                asked = await browser.get("/auth/github", params={"claim": "acme"})
                assert "scope=read%3Aorg" in asked.headers["location"]
                async with httpx.AsyncClient() as visitor:
                    location = (await visitor.get(asked.headers["location"])).headers["location"]
                back = await browser.get(location.removeprefix("http://127.0.0.1:8000"))
                assert back.status_code == (303 if expected == 200 else 403)
                answer = await browser.post(f"/api/v1/skills/{name}/deprecate-nothing", json=WHY)
                assert answer.status_code in (404, 405)
                answer = await browser.post(f"/api/v1/skills/{name}/versions/1.0.0/deprecate", json=WHY)
                assert answer.status_code == (200 if expected == 200 else 401)
        assert (await registry.client.get("/api/v1/namespaces/acme")).json()["owners"] == ["In"]


async def test_administrator_grants_reassigns_and_frees(registry: Registry) -> None:
    """G105: each decision is audited."""
    name = await publish(registry, "acme/tools", "Says hello.")
    person = await signed_in(registry.app, "helper")
    admin, body = "/api/v1/admin/namespaces", {"accountId": str(person.account.id), "reason": "They asked."}
    assert (await registry.client.post(f"{admin}/acme/claims", json=body, headers=KEY)).status_code == 200
    async with a_browser(registry.app) as browser:
        browser.cookies.update(cookies_of(person))
        assert (await browser.post(f"/api/v1/skills/{name}/unlist", json=WHY)).status_code == 200
        [claim] = (await browser.get("/api/v1/namespaces/acme/claims")).json()["claims"]
        assert (claim["login"], claim["method"]) == ("helper", "admin")
        assert (await browser.delete(f"/api/v1/namespaces/acme/claims/{claim['id']}")).status_code == 200
        assert (await browser.post(f"/api/v1/skills/{name}/relist", json=WHY)).status_code == 403
    used = await registry.client.post(f"{admin}/acme/free", json={"reason": "Unused."}, headers=KEY)
    assert (used.status_code, used.json()["code"]) == (409, "namespace_in_use")
    for number in ("helper",):
        freed = await registry.client.post(f"{admin}/{number}/free", json={"reason": "Unused."}, headers=KEY)
        assert freed.status_code == 200, freed.text
    actions = [
        action
        for _, action, _ in await audit_of(
            registry.app, "namespace_claimed", "namespace_claim_revoked", "namespace_freed"
        )
    ]
    assert actions == ["namespace_claimed", "namespace_claim_revoked", "namespace_freed"]


async def test_unknown_namespaces_are_not_found(registry: Registry) -> None:
    answer = await registry.client.get("/api/v1/namespaces/local")
    assert answer.json() == answer.json() | {"name": "local", "kind": "operator", "owners": []}
    for missing in ("no-such", "%00", "a~b"):
        assert (await registry.client.get(f"/api/v1/namespaces/{missing}")).status_code == 404


async def test_deceptive_names_are_refused_for_handles_and_uploads(registry: Registry) -> None:
    """G106: look-alikes of well-known owners and of popular names."""
    token = bearer(await a_token(registry.app, "alice"))
    async with a_person(registry, "some_body") as person:
        for handle, code in (("admin", "reserved_name"), ("openai", "well_known_name")):
            answer = await person.put("/api/v1/account/handle", json={"handle": handle})
            assert (answer.status_code, answer.json()["code"]) == (409, code), handle
    answer = await upload(registry, "Makes tables.", token, skillName="ｔable-maker")
    assert (answer.status_code, answer.json()["code"]) == (400, "deceptive_name")
    await upload(registry, "Makes tables.", token)
    await registry.work()
    url = "/api/v1/skills/alice/uploads/table-maker/rename"
    renamed = await registry.client.post(url, json={"name": "ｔable-maker"}, headers=token)
    assert (renamed.status_code, renamed.json()["code"]) == (400, "deceptive_name")


async def test_claim_is_revoked_during_an_upload(registry: Registry) -> None:
    """G104: the upload is admitted before, or refused after the revocation; never anything else."""
    person, token = await signed_in(registry.app, "helper"), bearer(await a_token(registry.app, "helper"))
    await publish(registry, "acme/tools", "Says hello.")
    admin, body = "/api/v1/admin/namespaces/acme/claims", {"accountId": str(person.account.id), "reason": "They asked."}
    for _ in range(5):
        assert (await registry.client.post(admin, json=body, headers=KEY)).status_code == 200
        listed = await registry.client.get("/api/v1/namespaces/acme/claims", headers=KEY)
        claim = listed.json()["claims"][0]["id"]
        uploaded, revoked = await asyncio.gather(
            upload(registry, f"Makes tables {claim}.", token, namespace="acme"),
            registry.client.delete(f"/api/v1/namespaces/acme/claims/{claim}", headers=KEY),
        )
        await registry.work()
        assert revoked.status_code == 200
        assert uploaded.status_code in (200, 201, 403), uploaded.text
        assert (await upload(registry, "Too late.", token, namespace="acme")).status_code == 403
