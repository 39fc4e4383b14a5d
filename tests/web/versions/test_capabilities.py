"""What a skill reaches for, as the API and its page show it."""

from assay.web.http.format import AT_A_GLANCE
from tests.support.registry import Registry
from tests.support.skills import a_skill

FRONT = "---\nname: greet\ndescription: Says hello.\nallowed-tools: Read, <b>Write</b>\n---\n"
BODY = "See https://api.acme.io/.\n\n```bash\ngreeter --to $GREET_NAME > ~/greetings.txt\n```\n"


async def publish(registry: Registry, skill_md: str) -> None:
    """List a skill with this text."""
    registry.github.add_repository("acme/tools", files={"SKILL.md": skill_md})
    await registry.submit("acme/tools", "greet")
    await registry.work()


async def page(registry: Registry) -> str:
    """The page of the skill."""
    answer = await registry.client.get("/skills/acme/tools/greet")
    assert 200 == answer.status_code
    return answer.text


async def test_the_api_says_what_a_skill_reaches_for(registry: Registry) -> None:
    """With the listing, and with the submission that it came from."""
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


async def test_the_page_says_it_in_words(registry: Registry) -> None:
    """Each kind under its own heading, as text and nothing else."""
    await publish(registry, FRONT + BODY)
    shown = await page(registry)
    assert "What it reaches for" in shown
    for word in ("Hosts it names", "<code>api.acme.io</code>", "<code>greeter</code>", "<code>~/greetings.txt</code>"):
        assert word in shown
    assert "<code>&lt;b&gt;Write&lt;/b&gt;</code>" in shown
    assert "<b>Write" not in shown


async def test_a_long_list_is_folded(registry: Registry) -> None:
    """The first few are shown at once, and all of them are there."""
    await publish(registry, FRONT + "\n".join(f"https://host-{number:02}.acme.io/" for number in range(40)))
    shown = await page(registry)
    assert f"<summary>{40 - AT_A_GLANCE} more</summary>" in shown
    assert all(f"<code>host-{number:02}.acme.io</code>" in shown for number in range(40))


async def test_a_skill_that_reaches_for_nothing(registry: Registry) -> None:
    """Has no empty section."""
    await publish(registry, a_skill("greet"))
    assert "What it reaches for" not in await page(registry)
