"""Pages that update live, in a real browser with real processes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import pytest
from playwright.async_api import Browser, Page, expect

from assay.model.submission import State
from assay.store.submissions.transitions import Step
from tests.support.processes import a_process, until
from tests.support.registry import Registry
from tests.support.skills import a_repository
from tests.support.streams import a_batch, a_submission, go_around, step_on
from tests.support.web.process import a_web

pytestmark = pytest.mark.browser

PATIENCE_MS = 60_000
SCANNING = Step(State.TIER1_SCANNING, "fetched")


@dataclass
class Tab:
    """An open page and its requests."""

    page: Page
    fetched: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    async def listens(self) -> None:
        """Wait until the page has fetched itself once and is subscribed."""

        async def has_fetched() -> bool:
            return bool(self.fetched)

        await until(has_fetched)

    async def shows(self, text: str) -> None:
        """Wait until this text is visible."""
        await expect(self.page.locator("main")).to_contain_text(text, timeout=PATIENCE_MS)

    async def was_reloaded(self) -> bool:
        """Return whether the document has been replaced."""
        return not await self.page.evaluate("window.isTheSame === true")


@asynccontextmanager
async def a_tab(browser: Browser, address: str) -> AsyncIterator[Tab]:
    """Open a subscribed tab."""
    tab = Tab(await browser.new_page())
    tab.page.on(
        "request", lambda request: tab.fetched.append(request.url) if request.resource_type == "fetch" else None
    )
    tab.page.on("console", lambda message: tab.complaints.append(message.text))
    tab.page.on("pageerror", lambda error: tab.complaints.append(str(error)))
    await tab.page.goto(address)
    await tab.page.evaluate("window.isTheSame = true")
    await tab.listens()
    yield tab
    await tab.page.close()


async def test_changes_of_other_processes_appear_without_reload(
    registry: Registry, browser: Browser, tmp_path: Path
) -> None:
    """G76: queue and submission page, from waiting to published."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf", "csv"))
    accepted = await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    with a_web(registry, tmp_path) as web:
        await until(web.is_ready)
        async with a_tab(browser, f"{web.url}/queue") as queue, a_tab(browser, f"{web.url}{path_of(accepted)}") as one:
            for tab in (queue, one):
                await tab.page.bring_to_front()
                await tab.shows("RECEIVED")
            with a_process("worker", registry.app.settings, tmp_path / "worker.log"):
                await one.shows("PUBLISHED")
                await one.shows("Open the listing acme/tools/pdf")
                await queue.page.bring_to_front()
                await queue.shows("PUBLISHED")
                await registry.submit("acme/tools", "csv", "skills/csv/SKILL.md")
                await expect(queue.page.locator("tbody tr")).to_have_count(2, timeout=PATIENCE_MS)
                await expect(queue.page.locator("tbody .published")).to_have_count(2, timeout=PATIENCE_MS)
            for tab in (queue, one):
                assert not await tab.was_reloaded()
                assert tab.complaints == []


def path_of(accepted: dict[str, str]) -> str:
    """Return the path of a submission page."""
    return f"/submissions/{accepted['id']}"


async def test_live_update_keeps_focus_input_selection_and_scroll(
    registry: Registry, url: str, browser: Browser
) -> None:
    store = registry.app.store
    await a_batch(store, *(f"skill-{number}" for number in range(40)))
    before = await a_submission(store, "watched")
    async with a_tab(browser, f"{url}/queue") as tab:
        link = tab.page.get_by_role("link", name="watched")
        await tab.page.get_by_label("Search skills").fill("half a word")
        await link.focus()
        await tab.page.evaluate("window.row = document.activeElement.closest('tr'); window.scrollTo(0, 700)")
        under_the_eye = "document.elementFromPoint(300, 300).closest('tr').id"
        seen = await tab.page.evaluate(under_the_eye)
        await a_submission(store, "newer")
        await expect(tab.page.locator("tbody tr").first).to_contain_text("newer", timeout=PATIENCE_MS)
        await step_on(store, before, SCANNING)
        await tab.shows("TIER1_SCANNING")
        assert await tab.page.evaluate("document.activeElement.textContent") == "watched"
        assert await tab.page.evaluate("window.row.isConnected && window.row.contains(document.activeElement)")
        assert await tab.page.evaluate(under_the_eye) == seen
        assert await tab.page.get_by_label("Search skills").input_value() == "half a word"
        assert tab.complaints == []


async def test_burst_of_events_is_throttled(registry: Registry, url: str, browser: Browser) -> None:
    """The final state is shown."""
    store = registry.app.store
    before = await a_submission(store)
    async with a_tab(browser, f"{url}/submissions/{before.id}") as tab:
        begun, number = monotonic(), len(tab.fetched)
        for _ in range(100):
            before = await go_around(store, before)
        await step_on(store, before, SCANNING)
        await expect(tab.page.locator(".lead")).to_contain_text("TIER1_SCANNING", timeout=PATIENCE_MS)
        assert len(tab.fetched) - number <= 2 + (monotonic() - begun), "about one a second"


async def test_lost_connection_is_shown_and_recovers(registry: Registry, browser: Browser, tmp_path: Path) -> None:
    """G76."""
    store = registry.app.store
    before = await a_submission(store)
    with a_web(registry, tmp_path) as first:
        await until(first.is_ready)
        port = int(first.url.rpartition(":")[2])
        async with a_tab(browser, f"{first.url}/submissions/{before.id}") as tab:
            said = tab.page.locator("#connection")
            await expect(said).to_be_empty()
            first.process.kill()
            await expect(said).to_contain_text("Connection lost", timeout=PATIENCE_MS)
            await tab.shows("RECEIVED")
            await step_on(store, before, SCANNING)
            with a_web(registry, tmp_path, port) as second:
                await until(second.is_ready)
                await tab.shows("TIER1_SCANNING")
                await expect(said).to_be_empty(timeout=PATIENCE_MS)
                assert not await tab.was_reloaded()


async def test_http_error_on_the_stream_is_retried(registry: Registry, url: str, browser: Browser) -> None:
    """G76: browsers stop after some errors; the page does not."""
    store = registry.app.store
    before = await a_submission(store)
    tab, refused = Tab(await browser.new_page()), []
    tab.page.on(
        "request", lambda request: tab.fetched.append(request.url) if request.resource_type == "fetch" else None
    )

    async def refuse(route) -> None:
        refused.append(route.request.url)
        await (route.fulfill(status=503) if len(refused) < 3 else route.continue_())

    await tab.page.route("**/api/v1/submissions/stream/*", refuse)
    await tab.page.goto(f"{url}/submissions/{before.id}")
    await expect(tab.page.locator("#connection")).to_contain_text("Connection lost", timeout=PATIENCE_MS)
    await tab.listens()
    await step_on(store, before, SCANNING)
    await tab.shows("TIER1_SCANNING")
    await expect(tab.page.locator("#connection")).to_be_empty()
    assert len(refused) == 3


async def test_page_refreshes_without_script(registry: Registry, url: str, browser: Browser) -> None:
    store = registry.app.store
    before = await a_submission(store)
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(f"{url}/submissions/{before.id}")
    await expect(page.locator("main")).to_contain_text("RECEIVED")
    await step_on(store, before, SCANNING)
    await expect(page.locator("main")).to_contain_text("TIER1_SCANNING", timeout=PATIENCE_MS)
