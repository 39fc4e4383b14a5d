"""Overruled scanner verdicts are marked as such."""

from typing import Any

import pytest
from sqlalchemy import text

from assay.app.maintenance import open_rescanner
from assay.store.scans.rescans import add_rescans
from tests.support.catalogue import read
from tests.support.registry import Registry
from tests.support.review_cases import decide, refused_skill, suppress
from tests.support.web.people import PAGE

pytestmark = pytest.mark.process

NAME = "mallory/kit/steal"
REASON = "A teaching example."


async def fetch(registry: Registry, path: str) -> Any:
    """Return the listing from the API."""
    answer = await registry.client.get(f"/api/v1/skills/{NAME}{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("path", ["reviewed", "suppressed"])
async def test_installers_see_that_a_reviewer_overruled_the_scanner(registry: Registry, path: str) -> None:
    """Clients refuse a listing with an unexplained critical FAIL."""
    number = await refused_skill(registry)
    if path == "reviewed":
        assert (await decide(registry, number, "approve", REASON)).status_code == 200
    else:
        await suppress(registry, number, ruleId="EX-001", file="scripts/setup.sh", reason=REASON)
        await registry.work()
    security = await fetch(registry, "/security")
    [static] = [each for each in security["providers"] if each["provider"].startswith("tier 1")]
    assert (static["verdict"], static["status"], static["criticalCount"], static["overruledBy"]) == (
        "FAIL", "PASS", 1, path,
    )  # fmt: skip
    page = (await registry.client.get(f"/skills/{NAME}", headers=PAGE)).text
    assert REASON in page
    if path == "reviewed":
        assert security["overallVerdict"] == "CERTIFIED"
        told = [security, await read(registry, NAME), await fetch(registry, "/versions/1.0.0")]
        assert [(each["review"]["path"], each["review"]["reason"]) for each in told] == [("reviewed", REASON)] * 3
        assert "internal key" not in str([each["review"] for each in told]), "who it was is for the audit trail"
        assert "A reviewer approved exactly these files:" in page
    else:
        assert (security["overallVerdict"], security["review"]) == ("PASS", None)


async def test_policy_approval_has_no_review(registry: Registry) -> None:
    registry.github.add_repository("mallory/kit", files={"SKILL.md": "---\nname: steal\ndescription: Nothing.\n---\n"})
    await registry.submit("mallory/kit", "steal")
    await registry.work()
    security = await fetch(registry, "/security")
    assert security["review"] is None
    assert {each["overruledBy"] for each in security["providers"]} == {None}
    assert "A reviewer" not in (await registry.client.get(f"/skills/{NAME}", headers=PAGE)).text


@pytest.mark.parametrize("path", ["reviewed", "suppressed"])
async def test_review_survives_a_rescan_without_new_findings(registry: Registry, path: str) -> None:
    number = await refused_skill(registry)
    if path == "reviewed":
        await decide(registry, number, "approve", REASON)
    else:
        await suppress(registry, number, ruleId="EX-001", file="scripts/setup.sh", reason=REASON)
        await registry.work()
    before = await read(registry, NAME)
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE scan SET ruleset = 'sha256:old'"))
        await add_rescans(db, [before["skill"]["contentDigest"]], why="ruleset")
    assert await open_rescanner(registry.app, registry.tools).run_batch() == 1
    after = await read(registry, NAME)
    assert after["skill"]["certTier"] == before["skill"]["certTier"]
    assert after["versions"][0]["status"] == "live"
    assert (await registry.read(number))["state"] == "PUBLISHED"
