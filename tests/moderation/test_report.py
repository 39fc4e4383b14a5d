"""Security reports: from anyone, answered by an administrator, with a receipt and without the reporter's identity."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from assay.app.maintenance import watch_limits
from assay.serve.queue.health import read_queue_health
from tests.support.catalogue import agree, changes, gone, publish, read
from tests.support.registry import Registry
from tests.support.review_cases import KEY, report_listing
from tests.support.web.people import PAGE, audit_of, signed_in

pytestmark = pytest.mark.process

REPORTS = "/api/v1/admin/reports"


async def resolve(registry: Registry, receipt: dict[str, Any], outcome: str, status: int = 200) -> Any:
    """Resolve a report as an administrator."""
    body = {"outcome": outcome, "reason": "Thank you, we have seen it."}
    answer = await registry.client.post(f"{REPORTS}/{receipt['id']}/resolve", json=body, headers=KEY)
    assert answer.status_code == status, answer.text
    return answer.json()


async def status_of(registry: Registry, receipt: dict[str, Any]) -> tuple[str, str | None]:
    """Return the status a reporter sees."""
    answer = (await registry.client.get(f"/api/v1/reports/{receipt['id']}")).json()
    return answer["status"], answer["answer"]


async def test_report_leads_to_withdrawal(registry: Registry) -> None:
    """The previous version becomes live, all reporters of the version get the answer, and it is audited once."""
    name = await publish(registry, "acme/tools", "Says hello.", "Says goodbye.")
    alice = await signed_in(registry.app, "alice")
    first, second = await report_listing(registry, name), await report_listing(registry, name, who=alice)
    other = await report_listing(registry, name, version="1.0.0")
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


async def test_report_leads_to_a_block(registry: Registry) -> None:
    name = await publish(registry, "acme/tools", "Says hello.")
    await resolve(registry, await report_listing(registry, name), "blocked")
    assert "data-exfiltration" in str(await gone(registry, name))
    await agree(registry)


async def test_dismissed_report_changes_nothing(registry: Registry) -> None:
    """The reporter gets an answer."""
    name = await publish(registry, "acme/tools", "Says hello.")
    receipt = await report_listing(registry, name)
    await resolve(registry, receipt, "dismissed")
    assert await status_of(registry, receipt) == ("dismissed", "Thank you, we have seen it.")
    await agree(registry, name)


async def test_reporter_identity_is_private(registry: Registry) -> None:
    """administrators see the account only."""
    name = await publish(registry, "acme/tools", "Says hello.")
    alice = await signed_in(registry.app, "alice-the-reporter")
    receipt = await report_listing(registry, name, who=alice)
    again = await report_listing(registry, name, who=alice)
    assert again["id"] == receipt["id"], "the same said twice is one report"
    await report_listing(registry, name)
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


async def test_reports_are_validated_and_rate_limited(registry: Registry) -> None:
    """five a day per address without an account."""
    name = await publish(registry, "acme/tools", "Says hello.")
    await report_listing(registry, name, 400, text="short")
    await report_listing(registry, name, 400, category="dislike")
    assert (await report_listing(registry, name, 404, version="9.9.9"))["code"] == "version_not_found"
    assert (await report_listing(registry, "acme/tools/nothing", 404))["code"] == "skill_not_found"
    for _ in range(5):
        await report_listing(registry, name)
    assert (await report_listing(registry, name, 429))["code"] == "too_many_attempts"
    await report_listing(registry, name, who=await signed_in(registry.app, "alice"))
    missing = await registry.client.get(f"/api/v1/reports/{'0' * 32}")
    assert (missing.status_code, missing.json()["code"]) == (404, "report_not_found")


async def add_anonymous_reports(registry: Registry, number: int) -> None:
    """Store open reports about the only listing, as from many addresses."""
    async with registry.app.store.begin() as db:
        await db.execute(
            text(
                "INSERT INTO security_report (id, skill_id, version, content_digest, category, text) "
                "SELECT uuidv7(), skill.id, '1.0.0', 'sha256:' || repeat('a', 64), 'malware', 'Junk.' "
                "FROM skill, generate_series(1, CAST(:number AS int))"
            ),
            {"number": number},
        )


async def test_junk_does_not_silence_accounts_and_administrators(registry: Registry) -> None:
    name = await publish(registry, "acme/tools", "Says hello.")
    await add_anonymous_reports(registry, registry.app.settings.limit_open_reports_anonymous)
    refused = await report_listing(registry, name, 429)
    assert (refused["code"], "Sign in" in refused["detail"]) == ("too_many_reports", True)
    await report_listing(registry, name, who=await signed_in(registry.app, "alice"))
    body = {"category": "malware", "text": "It sends files elsewhere."}
    answer = await registry.client.post(f"/api/v1/skills/{name}/reports", json=body, headers=KEY)
    assert answer.status_code == 200, answer.text


async def test_reports_of_accounts_do_not_silence_others(registry: Registry) -> None:
    """Only anonymous reports count towards the limit of a listing."""
    name = await publish(registry, "acme/tools", "Says hello.")
    await add_anonymous_reports(registry, registry.app.settings.limit_open_reports_anonymous)
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE security_report SET reporter = id::text"))
    await report_listing(registry, name)


async def test_administrator_has_no_limit_of_reports(registry: Registry) -> None:
    name = await publish(registry, "acme/tools", "Says hello.")
    body = {"category": "malware", "text": "It sends files elsewhere."}
    for _ in range(6):
        answer = await registry.client.post(f"/api/v1/skills/{name}/reports", json=body, headers=KEY)
        assert answer.status_code == 200, answer.text


async def test_reports_of_accounts_are_listed_first(registry: Registry) -> None:
    name = await publish(registry, "acme/tools", "Says hello.")
    anonymous = [(await report_listing(registry, name))["id"] for _ in range(2)]
    people = [await signed_in(registry.app, login) for login in ("alice", "bob")]
    signed = [(await report_listing(registry, name, who=each))["id"] for each in people]
    listed: list[str] = []
    params: dict[str, Any] = {"limit": 1}
    while "cursor" not in params or params["cursor"]:
        page = (await registry.client.get(REPORTS, params=params, headers=KEY)).json()
        listed += [each["id"] for each in page["reports"]]
        params["cursor"] = page["nextCursor"]
    assert listed == [*signed, *anonymous]


async def test_unanswered_report_raises_an_alarm(registry: Registry) -> None:
    """G95."""
    name = await publish(registry, "acme/tools", "Says hello.")
    receipt = await report_listing(registry, name)
    limits = watch_limits(registry.app.settings)

    async def alarms(hours: float) -> set[str]:
        async with registry.app.store.snapshot() as db:
            health = await read_queue_health(db, registry.app.clock.now() + timedelta(hours=hours), limits)
        return {each.alarm.code.value for each in health.alarms}

    assert "reports_unanswered" not in await alarms(23)
    assert "reports_unanswered" in await alarms(25)
    await resolve(registry, receipt, "dismissed")
    assert "reports_unanswered" not in await alarms(25)


async def test_report_form_and_answer_form(registry: Registry) -> None:
    name = await publish(registry, "acme/tools", "Says hello.")
    receipt = await report_listing(registry, name)
    page = (await registry.client.get("/admin/reports", headers=PAGE | KEY)).text
    assert "It sends my &lt;img src=x&gt; files" in page
    assert "<img src=x" not in page
    form = {"outcome": "dismissed", "reason": "It does not."}
    sent = await registry.client.post(f"/admin/reports/{receipt['id']}", data=form, headers=PAGE | KEY)
    assert sent.status_code == 303, sent.text
    assert "No reports." in (await registry.client.get("/admin/reports", headers=PAGE | KEY)).text
    answered = await registry.client.get("/admin/reports", params={"status": "answered"}, headers=PAGE | KEY)
    assert "It does not." in answered.text


@pytest.mark.parametrize("form", [{"outcome": "shrug", "reason": "It does not."}, {"outcome": "dismissed"}])
async def test_invalid_answer_changes_nothing(registry: Registry, form: dict[str, str]) -> None:
    name = await publish(registry, "acme/tools", "Says hello.")
    receipt = await report_listing(registry, name)
    sent = await registry.client.post(f"/admin/reports/{receipt['id']}", data=form, headers=PAGE | KEY)
    assert sent.status_code == 400
    assert (await status_of(registry, receipt))[0] == "open"
