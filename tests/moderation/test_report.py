"""Security reports: from anybody, answered by an administrator, with a receipt and without a trace of who wrote it."""

from datetime import timedelta
from typing import Any

import pytest

from assay.app.maintenance import watch_limits
from assay.serve.queue.health import read_queue_health
from tests.support.catalogue import agree, changes, gone, publish, read
from tests.support.registry import Registry
from tests.support.review_cases import KEY
from tests.support.web.people import PAGE, a_browser, audit_of, cookies_of, signed_in

REPORTS = "/api/v1/admin/reports"
TEXT = "It sends my <img src=x> files\nsomewhere else."


async def tell(registry: Registry, name: str, status: int = 200, who: Any = None, **given: Any) -> Any:
    """Somebody reports a listing."""
    body = {"category": "data-exfiltration", "text": TEXT} | given
    async with a_browser(registry.app) as browser:
        if who is not None:
            browser.cookies.update(cookies_of(who))
        answer = await browser.post(f"/api/v1/skills/{name}/reports", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


async def resolve(registry: Registry, receipt: dict[str, Any], outcome: str, status: int = 200) -> Any:
    """An administrator answers."""
    body = {"outcome": outcome, "reason": "Thank you, we have seen it."}
    answer = await registry.client.post(f"{REPORTS}/{receipt['id']}/resolve", json=body, headers=KEY)
    assert answer.status_code == status, answer.text
    return answer.json()


async def status_of(registry: Registry, receipt: dict[str, Any]) -> tuple[str, str | None]:
    """What the reporter reads."""
    answer = (await registry.client.get(f"/api/v1/reports/{receipt['id']}")).json()
    return answer["status"], answer["answer"]


async def test_reported_and_withdrawn_everywhere(registry: Registry) -> None:
    """The last good version is live again; every reporter of the same version has the answer; the trail has it once."""
    name = await publish(registry, "acme/tools", "Says hello.", "Says goodbye.")
    alice = await signed_in(registry.app, "alice")
    first, second = await tell(registry, name), await tell(registry, name, who=alice)
    other = await tell(registry, name, version="1.0.0")
    assert (first["version"], other["version"], await status_of(registry, first)) == ("1.0.1", "1.0.0", ("open", None))
    answered = await resolve(registry, first, "withdrawn")
    assert sorted(answered["answered"]) == sorted([first["id"], second["id"]])
    listing = await read(registry, name)
    assert listing["skill"]["currentVersion"] == "1.0.0"
    assert "withdraw" in [each["kind"] for each in await changes(registry)]
    for receipt, status in ((first, "withdrawn"), (second, "withdrawn"), (other, "open")):
        assert (await status_of(registry, receipt))[0] == status
    assert (await resolve(registry, second, "dismissed", 409))["code"] == "report_answered"
    assert await audit_of(registry.app, "report_resolved") == [("internal key", "report_resolved", first["id"])]


async def test_reported_and_blocked(registry: Registry) -> None:
    """These bytes cannot be published again under any name."""
    name = await publish(registry, "acme/tools", "Says hello.")
    await resolve(registry, await tell(registry, name), "blocked")
    assert "data-exfiltration" in str(await gone(registry, name))
    await agree(registry)


async def test_dismissed_changes_nothing(registry: Registry) -> None:
    """But the reporter has an answer."""
    name = await publish(registry, "acme/tools", "Says hello.")
    receipt = await tell(registry, name)
    await resolve(registry, receipt, "dismissed")
    assert await status_of(registry, receipt) == ("dismissed", "Thank you, we have seen it.")
    await agree(registry, name)


async def test_nobody_sees_who_reported_what(registry: Registry) -> None:
    """Neither the listing, nor the feed, nor the receipt; administrators see an account, and of others nothing."""
    name = await publish(registry, "acme/tools", "Says hello.")
    alice = await signed_in(registry.app, "alice-the-reporter")
    receipt = await tell(registry, name, who=alice)
    again = await tell(registry, name, who=alice)
    assert again["id"] == receipt["id"], "the same said twice is one report"
    await tell(registry, name)
    seen = [await read(registry, name), await changes(registry), receipt]
    page = (await registry.client.get(f"/skills/{name}", headers=PAGE)).text
    account = str(alice.account.id)
    assert all(secret not in str([*seen, page]) for secret in ("somewhere else", "alice-the-reporter", account))
    listed = (await registry.client.get(REPORTS, headers=KEY)).json()["reports"]
    assert [each["reporter"] for each in listed] == [account, None]
    first = (await registry.client.get(REPORTS, params={"limit": 1, "status": "open"}, headers=KEY)).json()
    rest = await registry.client.get(REPORTS, params={"cursor": first["nextCursor"]}, headers=KEY)
    assert [each["id"] for each in first["reports"] + rest.json()["reports"]] == [each["id"] for each in listed]
    for params in ({"status": "answered"}, {"category": "malware"}, {"skill": "no/such/skill"}):
        assert (await registry.client.get(REPORTS, params=params, headers=KEY)).json()["reports"] == []


async def test_reports_are_bounded(registry: Registry) -> None:
    """Words, kinds and versions are checked; without an account there are five a day from one address."""
    name = await publish(registry, "acme/tools", "Says hello.")
    await tell(registry, name, 400, text="short")
    await tell(registry, name, 400, category="dislike")
    assert (await tell(registry, name, 404, version="9.9.9"))["code"] == "version_not_found"
    assert (await tell(registry, "acme/tools/nothing", 404))["code"] == "skill_not_found"
    for _ in range(5):
        await tell(registry, name)
    assert (await tell(registry, name, 429))["code"] == "too_many_attempts"
    await tell(registry, name, who=await signed_in(registry.app, "alice"))
    missing = await registry.client.get(f"/api/v1/reports/{'0' * 32}")
    assert (missing.status_code, missing.json()["code"]) == (404, "report_not_found")


async def test_what_nobody_answers_raises_an_alarm(registry: Registry) -> None:
    """G95: after the hours of the settings, in the health of the queue, until it is answered."""
    name = await publish(registry, "acme/tools", "Says hello.")
    receipt = await tell(registry, name)
    limits = watch_limits(registry.app.settings)

    async def alarms(hours: float) -> set[str]:
        async with registry.app.store.snapshot() as db:
            health = await read_queue_health(db, registry.app.clock.now() + timedelta(hours=hours), limits)
        return {each.alarm.code.value for each in health.alarms}

    assert "reports_unanswered" not in await alarms(23)
    assert "reports_unanswered" in await alarms(25)
    await resolve(registry, receipt, "dismissed")
    assert "reports_unanswered" not in await alarms(25)


async def test_on_the_page(registry: Registry) -> None:
    """What is reported is text, and the form answers it."""
    name = await publish(registry, "acme/tools", "Says hello.")
    receipt = await tell(registry, name)
    page = (await registry.client.get("/admin/reports", headers=PAGE | KEY)).text
    assert "It sends my &lt;img src=x&gt; files" in page
    assert "<img src=x" not in page
    form = {"outcome": "dismissed", "reason": "It does not."}
    sent = await registry.client.post(f"/admin/reports/{receipt['id']}", data=form, headers=PAGE | KEY)
    assert sent.status_code == 303, sent.text
    assert "There is none." in (await registry.client.get("/admin/reports", headers=PAGE | KEY)).text
    answered = await registry.client.get("/admin/reports", params={"status": "answered"}, headers=PAGE | KEY)
    assert "It does not." in answered.text


@pytest.mark.parametrize("form", [{"outcome": "shrug", "reason": "It does not."}, {"outcome": "dismissed"}])
async def test_a_wrong_form_changes_nothing(registry: Registry, form: dict[str, str]) -> None:
    """A bad request, and the report still waits."""
    name = await publish(registry, "acme/tools", "Says hello.")
    receipt = await tell(registry, name)
    sent = await registry.client.post(f"/admin/reports/{receipt['id']}", data=form, headers=PAGE | KEY)
    assert sent.status_code == 400
    assert (await status_of(registry, receipt))[0] == "open"
