"""Judge, deep scans and reviews in a real browser, including forms without script."""

from dataclasses import replace

import pytest
from playwright.async_api import Browser, BrowserContext, Page

from assay.accounts.sessions import SessionTokens
from tests.support.deepscan.deliveries import CRITICAL, ManualNode
from tests.support.fake_llm import FakeModel, completion
from tests.support.judge import SUSPECT, judged, judged_settings, model
from tests.support.registry import Registry
from tests.support.review_cases import decide, refused_skill, report_listing, suppress, waiting
from tests.support.streams import serving
from tests.support.web.people import admin_signed_in, cookies_of, signed_in

pytestmark = pytest.mark.browser

__all__ = ["judged", "judged_settings", "model"]
NAME = "acme/tools/greet"
LONG = {"severity": "high", "file": "very/long/" * 15 + "run.py", "excerpt": f"x = '{'y' * 190}'"}


async def as_person(browser: Browser, url: str, who: SessionTokens | None, **given: object) -> tuple[Page, list[str]]:
    """Return a page with this person's session, and its console messages."""
    context: BrowserContext = await browser.new_context(**given)  # type: ignore[arg-type]
    if who is not None:
        await context.add_cookies([{"name": name, "value": each, "url": url} for name, each in cookies_of(who).items()])
    page, complaints = await context.new_page(), []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return page, complaints


async def publish_judged(registry: Registry) -> None:
    """Publish a skill with a refuted finding and a deep scan finding."""
    registry.github.add_repository("acme/tools", files=SUSPECT)
    await registry.submit("acme/tools", "greet")
    await registry.work()
    node = ManualNode(registry)
    answer = await node.deliver(node.result(await node.claim(), findings=[CRITICAL | LONG]))
    assert answer.status_code == 200, answer.text


async def test_pages_show_findings_and_fit_the_viewport(judged: Registry, model: FakeModel, browser: Browser) -> None:
    """G13, G64: skill, version, refusal, review, lists and admin; desktop and phone, light and dark."""
    await publish_judged(judged)
    model.behave = lambda asked: completion(replace(asked, ruling="unsure").correct_answer())
    doubtful, refused = await waiting(judged, "tidy/tools"), await refused_skill(judged)
    assert (await decide(judged, refused, "approve", "A teaching example.")).status_code == 200
    ending = await waiting(judged, "ending/tools", note="Other bytes.")
    await suppress(judged, ending, days=3)
    second = await refused_skill(judged, "mallory/other")
    await report_listing(judged, NAME, text="word " * 200)
    admin = await admin_signed_in(judged.app)
    pages = {
        f"/skills/{NAME}": (None, ["refuted by the judge It is only described.", "semgrep findings"]),
        f"/skills/{NAME}/versions/1.0.0": (None, ["refuted by the judge", "Deep scans"]),
        "/skills/mallory/kit/steal": (None, ["A reviewer approved exactly these files: A teaching example."]),
        f"/submissions/{second}": (None, ["Keys or credentials are read", "sign in to appeal"]),
        "/admin": (admin, ["Reviews (1)", "Suppressions ending within a week", "suppression_ending"]),
        "/admin/reviews": (admin, ["judge_unsure", "DR-001 SKILL.md:11"]),
        f"/admin/reviews/{doubtful}": (admin, ["the judge is unsure", "Approve and publish", "+sudo journalctl"]),
        "/admin/reports": (admin, ["word word", "withdrawn: remove this version"]),
    }
    async with serving(judged.app) as url:
        for width, scheme in ((390, "light"), (1280, "dark")):
            given = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
            windows = {who: await as_person(browser, url, who, **given) for who in (None, admin)}
            for path, (who, words) in pages.items():
                page, complaints = windows[who]
                await page.goto(f"{url}{path}")
                said = " ".join((await page.locator("main").inner_text()).split())
                assert [each for each in words if each not in said] == [], path
                assert await page.evaluate("document.documentElement.scrollWidth") <= width, path
                unnamed = "main :is(input:not([type=hidden]), select, textarea):not(label *)"
                assert await page.locator(unnamed).count() == 0, path
                assert complaints == []


async def test_review_by_keyboard_without_script(judged: Registry, model: FakeModel, browser: Browser) -> None:
    """A line break in the reason does not submit."""
    model.behave = lambda asked: completion(replace(asked, ruling="unsure").correct_answer())
    number = await waiting(judged)
    admin = await admin_signed_in(judged.app)
    async with serving(judged.app) as url:
        page, _ = await as_person(browser, url, admin, java_script_enabled=False)
        await page.goto(f"{url}/admin")
        await page.get_by_role("link", name="Reviews (1)").press("Enter")
        await page.get_by_label("Reason").select_option("judge_unsure")
        await page.get_by_label("Skill or owner/repo").press("Enter")
        await page.get_by_role("link", name="tidy").press("Enter")
        await page.get_by_label("Reason, shown to the author").press_sequentially("I have read")
        await page.keyboard.press("Enter")
        await page.keyboard.type("every line.")
        assert (await judged.read(number))["state"] == "NEEDS_REVIEW"
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"{url}/submissions/{number}")
        assert "every line." in await page.locator("main").inner_text()
    assert (await judged.read(number))["state"] == "PUBLISHED"


async def test_appeal_and_report_forms(judged: Registry, model: FakeModel, browser: Browser) -> None:
    await publish_judged(judged)
    number = await refused_skill(judged)
    author = await signed_in(judged.app, "mallory")
    admin = await admin_signed_in(judged.app)
    async with serving(judged.app) as url:
        page, _ = await as_person(browser, url, author, java_script_enabled=False)
        await page.goto(f"{url}/submissions/{number}")
        await page.get_by_label("Explanation").fill("The host is ours, and nothing leaves it.")
        await page.get_by_role("button", name="Appeal").click()
        await page.get_by_text("The host is ours, and nothing leaves it.").wait_for()
        assert "NEEDS_REVIEW" in await page.locator(".lead").inner_text()
        await page.goto(f"{url}/skills/{NAME}")
        await page.get_by_role("button", name="Rescan").click()
        await page.wait_for_url(f"{url}/submissions/*")
        await page.goto(f"{url}/skills/{NAME}")
        await page.get_by_text("Report a security problem").press("Enter")
        await page.get_by_label("Category").select_option("malware")
        await page.get_by_label("Description").fill("It sends my files away.")
        await page.get_by_role("button", name="Report").click()
        await page.wait_for_url(f"{url}/reports/*")
        receipt = page.url
        assert "waiting for an administrator" in await page.locator("main").inner_text()
        page, _ = await as_person(browser, url, admin, java_script_enabled=False)
        await page.goto(f"{url}/admin/reports")
        assert "It sends my files away." in await page.locator("main").inner_text()
        await page.get_by_label("Reason, shown to the reporter").click()
        await page.keyboard.type("It does not.")
        await page.get_by_label("Outcome").select_option("dismissed")
        await page.get_by_role("button", name="Answer").click()
        await page.get_by_text("No reports.").wait_for()
        await page.get_by_role("link", name="answered").click()
        assert "It does not." in await page.locator("main").inner_text()
        await page.goto(receipt)
        assert "took no action. It does not." in await page.locator("main").inner_text()
