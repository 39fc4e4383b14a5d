"""`ASSAY_SUBMIT`: who may submit repositories."""

from typing import Any

import httpx
import pytest

from assay.app.app import App
from assay.model.account import Role, SubmitPolicy
from assay.model.errors import Invalid
from assay.settings import Settings
from tests.support.registry import SECRET, Registry
from tests.support.skills import a_repository
from tests.support.web.people import a_browser, cookies_of, signed_in, with_role, with_settings

JSON = {"accept": "application/json"}
WAYS = ("", "/bulk", "/discover")


async def submit(app: App, way: str, body: dict[str, Any], person: Any = None, **headers: str) -> httpx.Response:
    async with a_browser(app) as browser:
        browser.cookies.update(cookies_of(person) if person else {})
        return await browser.post(f"/api/v1/submissions{way}", json=body, headers={**JSON, **headers})


def body_of(way: str, registry: Registry) -> dict[str, Any]:
    url = f"{registry.web_url}/acme/tools"
    return {"repoUrl": url, "skills": [{"name": "pdf", "path": "pdf/SKILL.md"}]} if way == "/bulk" else {"repoUrl": url}


@pytest.mark.parametrize("way", WAYS)
async def test_policy_of_the_registry_is_enforced(registry: Registry, way: str) -> None:
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    user, member = await signed_in(registry.app, "user"), await with_role(registry.app, "member", Role.MEMBER)
    reviewer, body = await with_role(registry.app, "judge", Role.REVIEWER), body_of(way, registry)
    expected = {
        SubmitPolicy.ANYONE: {None: None, user: None, member: None},
        SubmitPolicy.SIGNED_IN: {None: (401, "account_needed"), user: None},
        SubmitPolicy.MEMBERS: {
            None: (401, "account_needed"),
            user: (403, "members_only"),
            member: None,
            reviewer: None,
        },
    }
    for policy, decisions in expected.items():
        app = with_settings(registry.app, submit=policy)
        for person, refusal in decisions.items():
            answer = await submit(app, way, body, person)
            seen = (answer.status_code, answer.json().get("code")) if answer.status_code >= 400 else None
            assert seen == refusal, (policy, answer.text)
        assert (await submit(app, way, body, **{"X-Internal-Key": SECRET})).status_code < 300


async def test_uploads_follow_the_policy(registry: Registry) -> None:
    app = with_settings(registry.app, submit=SubmitPolicy.MEMBERS)
    async with a_browser(app) as browser:
        browser.cookies.update(cookies_of(await signed_in(app, "user")))
        answer = await browser.post("/api/v1/submissions/upload", files={"archive": b"x"}, headers=JSON)
        assert (answer.status_code, answer.json()["code"]) == (403, "members_only")


def test_unknown_policy_is_refused() -> None:
    assert Settings.from_mapping({}).submit is SubmitPolicy.ANYONE
    assert Settings.from_mapping({"ASSAY_SUBMIT": "signed-in"}).submit is SubmitPolicy.SIGNED_IN
    with pytest.raises(Invalid, match="ASSAY_SUBMIT"):
        Settings.from_mapping({"ASSAY_SUBMIT": "friends"})
