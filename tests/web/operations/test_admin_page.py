"""The admin page: restricted to administrators, and every button works."""

import httpx
import pytest

from assay.web.app import create_app
from assay.web.http.cookies import session_cookies
from tests.support.registry import SECRET, Registry
from tests.support.skills import a_repository
from tests.support.web.people import OURS, PAGE, admin_signed_in, signed_in

KEY = {"X-Internal-Key": SECRET}


async def a_browser(registry: Registry, *, admin: bool) -> httpx.AsyncClient:
    """Return a browser with a session."""
    granted = await (admin_signed_in(registry.app) if admin else signed_in(registry.app, "alice"))
    cookies = {each.key: each.value for each in session_cookies(granted, registry.app.settings)}
    transport = httpx.ASGITransport(create_app(registry.app), raise_app_exceptions=False)
    return httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1", cookies=cookies, headers=PAGE | OURS, follow_redirects=True
    )


async def test_admin_page_requires_an_administrator(registry: Registry) -> None:
    """G77: others are asked to sign in or get 403."""
    anonymous = await registry.client.get("/admin", headers=PAGE)
    assert (anonymous.status_code, anonymous.headers["location"].startswith("/sign-in?")) == (303, True)
    async with await a_browser(registry, admin=False) as browser:
        assert (await browser.get("/admin")).status_code == 403
    async with await a_browser(registry, admin=True) as browser:
        page = await browser.get("/admin")
    assert page.status_code == 200
    assert "No submission is stuck" in page.text


async def test_pause_and_resume_buttons(registry: Registry) -> None:
    """G27: the reason is shown, escaped, to everyone."""
    async with await a_browser(registry, admin=True) as browser:
        paused = await browser.post("/admin/pause", data={"reason": "<b>maintenance</b>", "minutes": "5"})
        assert "&lt;b&gt;maintenance&lt;/b&gt;" in paused.text
        assert "<b>maintenance" not in paused.text
        resumed = await browser.post("/admin/resume")
        assert "Pause the queue" in resumed.text
        assert "queue_resumed" in resumed.text


@pytest.mark.process
async def test_requeue_button_for_failed_submissions(registry: Registry) -> None:
    """G28."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    registry.github.fail("archive", 500, times=None)
    await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    await registry.work()
    registry.github.heal()
    async with await a_browser(registry, admin=True) as browser:
        assert 'href="/submissions/' in (await browser.get("/admin")).text
        after = await browser.post("/admin/requeue-failed", data={"reason": "GitHub is back"})
        assert "No submission has failed" in after.text
    await registry.work()
    assert (await registry.client.get("/api/v1/submissions/stats")).json()["published"] == 1


async def test_buttons_of_a_submission(registry: Registry) -> None:
    """G28: only valid actions are shown; one that is no longer valid returns an error."""
    number = (await registry.submit("acme/tools", "pdf"))["id"]
    page = f"/submissions/{number}"
    assert "Operator actions" not in (await registry.client.get(page)).text
    async with await a_browser(registry, admin=True) as browser:
        buttons = (await browser.get(page)).text
        assert all(f"{number}/{verb}" in buttons for verb in ("front", "back", "hold", "dequeue"))
        assert f"{number}/requeue" not in buttons
        for verb, state in (
            ("front", "RECEIVED"),
            ("hold", "ON_HOLD"),
            ("requeue", "RECEIVED"),
            ("dequeue", "DEQUEUED"),
        ):
            shown = await browser.post(f"/admin/submissions/{number}/{verb}", data={"reason": "because"})
            assert (shown.status_code, state in shown.text) == (200, True), shown.text
        refused = await browser.post(f"/admin/submissions/{number}/hold", data={"reason": "because"})
        assert (refused.status_code, "DEQUEUED" in refused.text) == (409, True)


@pytest.mark.parametrize("form", [{"reason": ""}, {"reason": "x", "minutes": "0"}, {"reason": "x", "minutes": "never"}])
async def test_invalid_form_is_rejected(registry: Registry, form: dict[str, str]) -> None:
    """G59."""
    async with await a_browser(registry, admin=True) as browser:
        assert (await browser.post("/admin/pause", data=form)).status_code == 400


async def test_cross_site_form_posts_are_rejected(registry: Registry) -> None:
    """G80."""
    async with await a_browser(registry, admin=True) as browser:
        answer = await browser.post("/admin/resume", headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 403
