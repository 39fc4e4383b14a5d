"""A scanner's no that does not count: everybody who asks is told so, and by what."""

from typing import Any

import pytest
from sqlalchemy import text

from assay.app.maintenance import open_second_look
from assay.store.scans.rescans import add_second_looks
from tests.moderation.test_suppress import suppress
from tests.support.catalogue import read
from tests.support.registry import Registry
from tests.support.review_cases import decide, refused_skill
from tests.support.web.people import PAGE

NAME = "mallory/kit/steal"
REASON = "A teaching example."


async def fetch(registry: Registry, path: str) -> Any:
    """What the API says of the listing."""
    answer = await registry.client.get(f"/api/v1/skills/{NAME}{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("path", ["reviewed", "suppressed"])
async def test_installers_learn_that_a_person_overruled_the_scanner(registry: Registry, path: str) -> None:
    """A provider that failed it beside CERTIFIED would be a riddle, and clients refuse what has a critical FAIL."""
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
        assert "A reviewer has approved exactly these files:" in page
    else:
        assert (security["overallVerdict"], security["review"]) == ("PASS", None)


async def test_a_yes_of_the_scanner_needs_no_overruling(registry: Registry) -> None:
    """What was approved by the policy alone has no review, and nothing is said of one."""
    registry.github.add_repository("mallory/kit", files={"SKILL.md": "---\nname: steal\ndescription: Nothing.\n---\n"})
    await registry.submit("mallory/kit", "steal")
    await registry.work()
    security = await fetch(registry, "/security")
    assert security["review"] is None
    assert {each["overruledBy"] for each in security["providers"]} == {None}
    assert "A reviewer" not in (await registry.client.get(f"/skills/{NAME}", headers=PAGE)).text


@pytest.mark.parametrize("path", ["reviewed", "suppressed"])
async def test_other_rules_that_find_nothing_new_take_nothing_back(registry: Registry, path: str) -> None:
    """A person's word holds for the same bytes, also when they are looked at again because the rules have changed."""
    number = await refused_skill(registry)
    if path == "reviewed":
        await decide(registry, number, "approve", REASON)
    else:
        await suppress(registry, number, ruleId="EX-001", file="scripts/setup.sh", reason=REASON)
        await registry.work()
    before = await read(registry, NAME)
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE scan SET ruleset = 'sha256:old'"))
        await add_second_looks(db, [before["skill"]["contentDigest"]], why="ruleset")
    assert await open_second_look(registry.app, registry.tools).look() == 1
    after = await read(registry, NAME)
    assert after["skill"]["certTier"] == before["skill"]["certTier"]
    assert after["versions"][0]["status"] == "live"
    assert (await registry.read(number))["state"] == "PUBLISHED"
