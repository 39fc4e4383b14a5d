"""The pages in a real browser."""

import pytest
from playwright.async_api import Page

from tests.support.registry import Registry
from tests.support.skills import a_bad_skill, a_repository
from tests.support.web.crowd import a_crowd, settle

pytestmark = pytest.mark.browser


async def test_navigation_from_home_to_a_skill_and_its_findings(registry: Registry, url: str, page: Page) -> None:
    """G64: with the same counts on every page."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf", "csv"))
    registry.github.add_repository("mallory/kit", files=a_bad_skill())
    for name in ("pdf", "csv"):
        await registry.submit("acme/tools", name, f"skills/{name}/SKILL.md")
    await registry.submit("mallory/kit", "steal")
    await registry.work()

    await page.goto(url)
    assert "2" in await page.locator(".tile", has_text="skills listed").inner_text()
    await page.get_by_label("Search skills").fill("acme/tools")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/skills?q=*")
    assert await page.locator(".card").count() == 2
    await page.locator(".card a", has_text="pdf").click()
    await page.wait_for_url("**/skills/acme/tools/pdf")
    assert "Greet the user politely." in await page.locator("main").inner_text()

    await page.get_by_role("link", name="Queue").click()
    await page.wait_for_url("**/queue")
    assert await page.locator("tbody tr").count() == 3
    await page.get_by_role("link", name="steal").click()
    await page.wait_for_url("**/submissions/*")
    said = await page.locator("main").inner_text()
    assert "scripts/setup.sh" in said
    assert "TIER1_FAILED" in said


async def test_hostile_skill_content_is_inert(registry: Registry, url: str, page: Page) -> None:
    """No script, image or form becomes active."""
    body = (
        "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">[x](javascript:alert(1))"
    )
    text = f"---\nname: evil\ndescription: \"<script>document.title='owned'</script>\"\n---\n\n# evil\n\n{body}\n"
    registry.github.add_repository("mallory/page", files={"SKILL.md": text})
    accepted = await registry.submit("mallory/page", "<b>evil</b>".replace("/", ""))
    await registry.work()
    detail = await registry.read(accepted["id"])
    name = detail["publishedSkillName"]
    for path in (f"/submissions/{accepted['id']}", "/queue", "/", "/skills", *([f"/skills/{name}"] if name else [])):
        await page.goto(f"{url}{path}")
        assert "owned" not in await page.title()
        assert await page.locator("main script, main img:not([src^='/badge/']), main b:has-text('evil')").count() == 0
        assert await page.locator("main a[href^='javascript']").count() == 0


@pytest.mark.parametrize("width", [390, 1280])
async def test_pages_fit_the_viewport(registry: Registry, url: str, page: Page, width: int) -> None:
    """For any skill name."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    await registry.submit("acme/tools", "a-very-long-name-" * 5, "skills/pdf/SKILL.md", as_operator=True)
    await registry.work()
    await page.set_viewport_size({"width": width, "height": 800})
    for path in ("/", "/skills", "/queue", f"/skills/acme/tools/{'a-very-long-name-' * 5}".rstrip("-")):
        await page.goto(f"{url}{path}")
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, path


@pytest.mark.parametrize("width", [390, 1280])
async def test_capabilities_fit_the_viewport(registry: Registry, url: str, page: Page, width: int) -> None:
    """Collapsed and expanded."""
    hosts = " ".join(f"https://{'long-' * 20}{number}.acme.io/" for number in range(50))
    tools = "allowed-tools: Read, <img/src=x/onerror=document.title='owned'>"
    text = f"---\nname: wide\ndescription: Reaches far.\n{tools}\n---\n{hosts} ~/{'folder/' * 25}file\n"
    registry.github.add_repository("acme/tools", files={"SKILL.md": text})
    await registry.submit("acme/tools", "wide")
    await registry.work()
    await page.set_viewport_size({"width": width, "height": 800})
    await page.goto(f"{url}/skills/acme/tools/wide")
    section = page.locator("section", has=page.get_by_role("heading", name="Capabilities"))
    await section.get_by_text("38 more").click()
    assert await section.locator("details li").first.is_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    assert "owned" not in await page.title()
    assert await page.locator("main img:not([src^='/badge/'])").count() == 0


@pytest.mark.parametrize("width", [390, 1280])
async def test_queue_filter_form(registry: Registry, database_url: str, url: str, page: Page, width: int) -> None:
    """G59, G64: keeps its values, also across pages."""
    await settle(database_url, a_crowd(700))
    await page.set_viewport_size({"width": width, "height": 800})
    await page.goto(f"{url}/queue")
    assert await page.locator("tbody tr").count() == 50
    await page.get_by_label("Skill or repository").fill("acme/tools")
    await page.get_by_label("Sort by").select_option("name")
    await page.get_by_role("button", name="Apply").click()
    await page.wait_for_url("**/queue?*q=acme*")
    first = await page.locator("tbody tr .name a").all_inner_texts()
    assert {await each.inner_text() for each in await page.locator("tbody tr .name span").all()} == {"acme/tools"}
    assert await page.get_by_label("Skill or repository").input_value() == "acme/tools"
    await page.get_by_role("link", name="More submissions").click()
    await page.wait_for_url("**cursor=*")
    second = await page.locator("tbody tr .name a").all_inner_texts()
    assert [*first, *second] == sorted([*first, *second])
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    await page.get_by_role("link", name="Clear filters").click()
    await page.wait_for_url("**/queue")
