"""The skill list in a browser, without script."""

import pytest
from playwright.async_api import Browser, Page
from sqlalchemy import text

from tests.support.registry import Registry
from tests.support.skills import a_skill
from tests.support.web.skills import publish

pytestmark = pytest.mark.browser

FACTS = """
UPDATE skill SET stars = length(name) * 7, installs = length(description) * 3,
    category = CASE WHEN name LIKE '%skill-1%' THEN 'security' ELSE 'documents' END,
    labels = CASE WHEN name LIKE '%2' THEN '{office}'::text[] ELSE '{}' END
"""


async def number_of(page: Page) -> int:
    """Return the count in the heading."""
    return int((await page.locator("h1 .quiet").inner_text()).rstrip("+").replace(",", ""))


async def test_search_filters_and_pages_without_script(registry: Registry, url: str, browser: Browser) -> None:
    """G12, G64."""
    await publish(
        registry, "acme/tools", {f"skill-{number}": f"Reads things of kind {number}." for number in range(35)}
    )
    registry.github.add_repository("fork/tools", files={"SKILL.md": a_skill("skill-7", "Reads things of kind 7.")})
    await registry.submit("fork/tools", "skill-7")
    await registry.work()
    async with registry.app.store.begin() as db:
        await db.execute(text(FACTS))
    page = await browser.new_page(java_script_enabled=False)
    await page.goto(f"{url}/skills")
    assert await number_of(page) == 36
    assert await page.locator(".card").count() == 30
    await page.get_by_role("link", name="More skills").click()
    assert await page.locator(".card").count() == 6

    await page.goto(f"{url}/skills")
    tab = page.get_by_role("navigation", name="Categories").get_by_role("link", name="security")
    said = int((await tab.inner_text()).split()[-1])
    await tab.click()
    assert await number_of(page) == await page.locator(".card").count() == said == 11
    form = page.get_by_role("search", name="Filter skills")
    await form.get_by_label("Labels").fill("office")
    await form.get_by_label("Sort by").select_option("name")
    await form.get_by_role("button", name="Apply").click()
    assert await page.locator(".card h2").all_inner_texts() == ["skill-12"]
    await page.get_by_role("link", name="Clear filters").click()
    assert await number_of(page) == 36

    await form.get_by_label("Keywords").fill("skill-7")
    await form.get_by_role("button", name="Apply").click()
    assert "Same content in" in await page.locator(".card").first.inner_text()
    await page.close()
