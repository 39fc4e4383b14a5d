"""Suppressions: visible, and over on their date."""

from datetime import timedelta

import pytest

from assay.maintenance.schedule import end_suppressions
from tests.support.catalogue import agree, changes, gone, read
from tests.support.registry import Registry
from tests.support.review_cases import KEY, a_doubtful_skill, decide, look, suppress, waiting
from tests.support.web.people import PAGE, MovableTime, audit_of

pytestmark = pytest.mark.process

SUPPRESSIONS = "/api/v1/admin/suppressions"
NAME = "acme/tools/tidy"


async def expire(registry: Registry, days: int = 31) -> int:
    """Run the periodic job at a later time."""
    later = MovableTime(timedelta(days=days))
    async with registry.app.store.begin() as db:
        return await end_suppressions(db, clock=later.clock)


@pytest.mark.parametrize("scope", ["content", "skill"])
async def test_suppression_publishes_and_its_end_returns_to_review(registry: Registry, scope: str) -> None:
    number = await waiting(registry)
    made = await suppress(registry, number, scope=scope)
    assert made["submissions"] == 1
    await registry.work()
    detail = await registry.read(number)
    assert (detail["state"], detail["score"]) == ("PUBLISHED", 81)
    approved = next(each for each in detail["stateHistory"] if each["toState"] == "AUTO_APPROVED")
    assert approved["metadata"]["path"] == "suppressed"
    marked = [each for each in detail["scanResults"][0]["findings"] if each["suppressed"]]
    assert [(each["ruleId"], each["suppressed"]["by"], each["suppressed"]["reason"]) for each in marked] == [
        ("DR-001", "internal key", "Its own <i>installer</i>."),
    ]
    listing = await read(registry, NAME)
    assert [each["ruleId"] for each in listing["scans"][0]["findings"] if each["suppressed"]] == ["DR-001"]
    assert listing["skill"]["certTier"] == "SCANNED"
    for path in (f"/skills/{NAME}", f"/submissions/{number}"):
        page = (await registry.client.get(path, headers=PAGE)).text
        assert "Its own &lt;i&gt;installer&lt;/i&gt;." in page
        assert "suppressed" in page

    assert [await expire(registry, days) for days in (0, 29, 31, 31)] == [0, 0, 1, 0]
    assert (await registry.read(number))["state"] == "RECEIVED"
    await registry.work()
    detail = await registry.read(number)
    assert (detail["state"], detail["reason"]["code"]) == ("NEEDS_REVIEW", "suppression_ended")
    assert not any(each["suppressed"] for each in detail["scanResults"][0]["findings"])
    assert (await read(registry, NAME))["skill"]["currentVersion"] == "1.0.0"
    await decide(registry, number, "reject", "Still not fixed.")
    assert "Still not fixed." in str(await gone(registry, NAME))
    await agree(registry)
    assert [each["kind"] for each in await changes(registry)] == ["publish", "withdraw", "tombstone"]
    trail = await audit_of(registry.app, "finding_suppressed", "suppression_ended", "review_rejected")
    assert [(actor, action) for actor, action, _ in trail] == [
        ("internal key", "finding_suppressed"),
        ("suppression timer", "suppression_ended"),
        ("internal key", "review_rejected"),
    ]
    # A reviewer may restore what another rejected.
    assert (await decide(registry, number, "approve", "It is fine after all.")).status_code == 200
    assert (await read(registry, NAME))["skill"]["certTier"] == "CERTIFIED"
    await agree(registry, NAME)


async def test_skill_suppression_covers_the_same_match_only(registry: Registry) -> None:
    """another match of the rule goes to review."""
    number = await waiting(registry)
    await suppress(registry, number, scope="skill")
    await registry.work()
    known, _ = registry.github.directory.find("acme/tools")
    known.push(a_doubtful_skill(note="Better words."))
    await registry.submit("acme/tools", "tidy")
    await registry.work()
    assert (await registry.read(number))["state"] == "PUBLISHED"
    other = {path: text.replace("tidy.example.com", "other.example.com") for path, text in a_doubtful_skill().items()}
    known.push(other)
    await registry.submit("acme/tools", "tidy")
    await registry.work()
    assert (await registry.read(number))["state"] == "NEEDS_REVIEW"
    assert (await read(registry, NAME))["skill"]["currentVersion"] == "1.0.1"


async def test_content_suppression_covers_the_same_content_everywhere(registry: Registry) -> None:
    first, second = await waiting(registry), await waiting(registry, "fork/tools")
    assert (await suppress(registry, first))["submissions"] == 2
    await registry.work()
    assert [(await registry.read(each))["state"] for each in (first, second)] == ["PUBLISHED", "PUBLISHED"]
    await waiting(registry, "else/tools", note="Other bytes.")


async def test_suppressions_are_listed_and_removed(registry: Registry) -> None:
    """removal is audited and reassessed."""
    number = await waiting(registry)
    await suppress(registry, number, ruleId="PS-001", file="scripts/tidy.sh", scope="skill")
    made = (await suppress(registry, number))["suppression"]
    await registry.work()
    page = (await registry.client.get(SUPPRESSIONS, params={"limit": 1}, headers=KEY)).json()
    assert [each["id"] for each in page["suppressions"]] == [made["id"]]
    rest = await registry.client.get(SUPPRESSIONS, params={"cursor": page["nextCursor"]}, headers=KEY)
    assert [each["ruleId"] for each in rest.json()["suppressions"]] == ["PS-001"]
    ended = await registry.client.request(
        "DELETE", f"{SUPPRESSIONS}/{made['id']}", json={"reason": "A mistake."}, headers=KEY
    )
    assert (ended.status_code, ended.json()["endedReason"]) == (200, "A mistake."), ended.text
    await registry.work()
    assert (await registry.read(number))["state"] == "NEEDS_REVIEW"
    held = await registry.client.get(SUPPRESSIONS, params={"holding": "true"}, headers=KEY)
    assert [each["ruleId"] for each in held.json()["suppressions"]] == ["PS-001"]
    shown = await look(registry, number)
    assert {each["ruleId"]: each["endedBy"] for each in shown["suppressions"]} == {
        "PS-001": None, "DR-001": "internal key",
    }  # fmt: skip
    again = await registry.client.request(
        "DELETE", f"{SUPPRESSIONS}/{made['id']}", json={"reason": "A mistake."}, headers=KEY
    )
    assert (again.status_code, again.json()["code"]) == (404, "suppression_not_found")


async def test_invalid_suppression_is_rejected(registry: Registry) -> None:
    """no such finding, date in the past or too far ahead, already suppressed, or blocked."""
    number = await waiting(registry)
    assert (await suppress(registry, number, ruleId="XX-999", status=404))["code"] == "finding_not_found"
    assert (await suppress(registry, number, days=-1, status=400))["code"] == "bad_until"
    assert (await suppress(registry, number, days=366, status=400))["code"] == "bad_until"
    assert (await suppress(registry, number, reason="   ", status=400))["code"] == "bad_reason"
    await suppress(registry, number)
    assert (await suppress(registry, number, status=409))["code"] == "already_suppressed"
    await registry.work()
    entry = {"repository": "acme/tools", "threatType": "malware", "severity": "critical", "reason": "It is known."}
    blocked = await registry.client.post("/api/v1/admin/blocklist", json=entry, headers=KEY)
    assert blocked.status_code == 200, blocked.text
    given = {"ruleId": "PS-001", "file": "scripts/tidy.sh"}
    assert (await suppress(registry, number, status=409, **given))["code"] == "blocklisted"


async def test_suppression_does_not_override_a_rejection(registry: Registry) -> None:
    number = await waiting(registry)
    await decide(registry, number, "reject", "Not this.")
    assert (await suppress(registry, number))["submissions"] == 0
    await registry.submit("acme/tools", "tidy")
    await registry.work()
    assert (await registry.read(number))["state"] == "REJECTED"
