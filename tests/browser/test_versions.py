"""Versions in a real browser."""

import pytest
from playwright.async_api import Page

from tests.support.registry import Registry
from tests.support.skills import a_skill
from tests.support.web.owners import ask

pytestmark = pytest.mark.browser

NAME = "acme/tools/greet"


async def publish_two(registry: Registry) -> None:
    """Publish a skill whose second version reads a variable and is deprecated."""
    files = {"SKILL.md": a_skill("greet"), "scripts/run.py": "print('hello')\n"}
    repository = registry.github.add_repository("acme/tools", files=files, stars=12)
    for change in (None, "import os\nprint(os.environ['GREETING'])\n"):
        if change is not None:
            repository.push({"scripts/run.py": change})
        await registry.submit("acme/tools", "greet")
        await registry.work()
    await ask(registry, NAME, "versions/1.0.1/deprecate", {"reason": "Reads more than it says."})


async def test_navigation_from_a_skill_to_its_changes(registry: Registry, url: str, page: Page) -> None:
    """G64: page, version, file and comparison link to each other and show the deprecation."""
    await publish_two(registry)
    await page.goto(f"{url}/skills/greet")
    assert page.url == f"{url}/skills/{NAME}"
    assert "Reads more than it says." in await page.locator(".reason").inner_text()
    badge = page.locator("img[src^='/badge/']")
    assert await badge.evaluate("image => image.complete && image.naturalWidth") > 50
    async with page.expect_download() as saved:
        await page.get_by_role("link", name="Download zip").click()
    assert (await saved.value).suggested_filename == "greet-1.0.1.zip"
    await page.get_by_role("link", name="compare").click()
    assert await page.locator(".patch .plus").all_inner_texts() == ["+import os", "+print(os.environ['GREETING'])"]
    assert "GREETING" in await page.get_by_role("heading", name="Added", exact=True).locator("+ dl").inner_text()
    await page.select_option("select[name=from]", "1.0.1")
    await page.select_option("select[name=to]", "1.0.0")
    await page.get_by_role("button", name="Compare").click()
    assert await page.locator("h1").inner_text() == "From 1.0.1 to 1.0.0"
    await page.get_by_role("link", name=NAME).click()
    await page.get_by_role("link", name="1.0.0", exact=True).last.click()
    await page.get_by_role("link", name="scripts/run.py").click()
    assert await page.locator("pre.file").inner_text() == "print('hello')\n"


@pytest.mark.parametrize("width", [320, 390, 1280])
async def test_version_pages_fit_the_viewport(registry: Registry, url: str, page: Page, width: int) -> None:
    await publish_two(registry)
    await page.set_viewport_size({"width": width, "height": 800})
    for path in ("", "/versions/1.0.0", "/compare?from=1.0.0", "/versions/1.0.0/files/scripts/run.py"):
        await page.goto(f"{url}/skills/{NAME}{path}")
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, path
