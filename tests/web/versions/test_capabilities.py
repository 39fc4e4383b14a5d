"""Capabilities of a skill in the API and on its page."""

import pytest

from assay.web.http.templates import FOLDED_AFTER
from tests.support.registry import Registry
from tests.support.skills import a_skill

pytestmark = pytest.mark.process

FRONT = "---\nname: greet\ndescription: Says hello.\nallowed-tools: Read, <b>Write</b>\n---\n"
BODY = "See https://api.acme.io/.\n\n```bash\ngreeter --to $GREET_NAME > ~/greetings.txt\n```\n"


async def publish(registry: Registry, skill_md: str) -> None:
    """Publish a skill with this text."""
    registry.github.add_repository("acme/tools", files={"SKILL.md": skill_md})
    await registry.submit("acme/tools", "greet")
    await registry.work()


async def page(registry: Registry) -> str:
    """Return the page of the skill."""
    answer = await registry.client.get("/skills/acme/tools/greet")
    assert 200 == answer.status_code
    return answer.text


async def test_api_lists_capabilities(registry: Registry) -> None:
    """With the listing and with its submission."""
    await publish(registry, FRONT + BODY)
    listing = (await registry.client.get("/api/v1/skills/acme/tools/greet")).json()
    expected = {
        "hosts": ["api.acme.io"],
        "programs": ["greeter"],
        "environment": ["GREET_NAME"],
        "outsideFiles": ["~/greetings.txt"],
        "tools": ["<b>Write</b>", "Read"],
    }
    assert expected == listing["scans"][0]["capabilities"]
    (submission,) = (await registry.client.get("/api/v1/submissions")).json()["submissions"]
    assert expected == (await registry.read(submission["id"]))["scanResults"][0]["capabilities"]


async def test_page_lists_capabilities(registry: Registry) -> None:
    """By kind, escaped."""
    await publish(registry, FRONT + BODY)
    shown = await page(registry)
    assert "Capabilities" in shown
    for word in ("Hosts it names", "<code>api.acme.io</code>", "<code>greeter</code>", "<code>~/greetings.txt</code>"):
        assert word in shown
    assert "<code>&lt;b&gt;Write&lt;/b&gt;</code>" in shown
    assert "<b>Write" not in shown


async def test_long_capability_list_is_collapsed(registry: Registry) -> None:
    await publish(registry, FRONT + "\n".join(f"https://host-{number:02}.acme.io/" for number in range(40)))
    shown = await page(registry)
    assert f"<summary>{40 - FOLDED_AFTER} more</summary>" in shown
    assert all(f"<code>host-{number:02}.acme.io</code>" in shown for number in range(40))


async def test_skill_without_capabilities_has_no_section(registry: Registry) -> None:
    await publish(registry, a_skill("greet"))
    assert "Capabilities" not in await page(registry)
