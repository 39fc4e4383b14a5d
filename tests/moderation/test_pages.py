"""Review pages: plain forms, escaped content."""

import pytest

from tests.support.catalogue import read
from tests.support.registry import Registry
from tests.support.review_cases import KEY, look, waiting
from tests.support.skills import a_skill
from tests.support.web.people import PAGE

pytestmark = pytest.mark.process

ASKED = PAGE | KEY


async def test_review_from_list_to_approval(registry: Registry) -> None:
    """Without script; the form carries the reviewed version."""
    number = await waiting(registry, note="<script>alert(1)</script>")
    listed = (await registry.client.get("/admin/reviews", headers=ASKED)).text
    assert f'href="/admin/reviews/{number}"' in listed
    assert "DR-001" in listed
    page = (await registry.client.get(f"/admin/reviews/{number}", headers=ASKED)).text
    version = (await look(registry, number))["version"]
    assert f'name="version" value="{version}"' in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    stale = {"reason": "I have read it.", "version": version - 1}
    refused = await registry.client.post(f"/admin/reviews/{number}/approve", data=stale, headers=ASKED)
    assert refused.status_code == 409
    form = {"reason": "I have read it.", "version": version}
    done = await registry.client.post(f"/admin/reviews/{number}/approve", data=form, headers=ASKED)
    assert (done.status_code, done.headers["location"]) == (303, f"/submissions/{number}"), done.text
    assert (await read(registry, "acme/tools/tidy"))["skill"]["certTier"] == "CERTIFIED"
    assert "No submission is in review." in (await registry.client.get("/admin/reviews", headers=ASKED)).text


async def test_reject_and_suppress_forms(registry: Registry) -> None:
    number = await waiting(registry)
    form = {"rule": "DR-001", "file": "SKILL.md", "scope": "content", "days": "30", "reason": "Its own installer."}
    sent = await registry.client.post(f"/admin/reviews/{number}/suppressions", data=form, headers=ASKED)
    assert sent.status_code == 303, sent.text
    await registry.work()
    page = (await registry.client.get(f"/admin/reviews/{number}", headers=ASKED)).text
    assert "Its own installer." in page
    other = await waiting(registry, "else/tools", note="Other bytes.")
    version = (await look(registry, other))["version"]
    form = {"reason": "It deletes too much.", "version": version}
    done = await registry.client.post(f"/admin/reviews/{other}/reject", data=form, headers=ASKED)
    assert done.status_code == 303, done.text
    assert (await registry.read(other))["state"] == "REJECTED"


async def test_review_shows_changes_against_the_live_version(registry: Registry) -> None:
    """files and new capabilities."""
    registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("tidy")})
    await registry.submit("acme/tools", "tidy")
    await registry.work()
    number = await waiting(registry)
    page = (await registry.client.get(f"/admin/reviews/{number}", headers=ASKED)).text
    assert "Files compared with 1.0.0" in page
    assert "Added since the live version" in page
    assert "+sudo journalctl" in page
