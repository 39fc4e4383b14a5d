"""A new look at a listing: anybody who is signed in may ask, within limits, and nobody waits twice."""

from typing import Any

from tests.support.catalogue import publish, read
from tests.support.registry import Registry
from tests.support.review_cases import waiting
from tests.support.skills import a_skill
from tests.support.web.people import a_browser, audit_of, cookies_of, signed_in


async def rescan(registry: Registry, name: str, who: Any) -> Any:
    """Somebody asks."""
    async with a_browser(registry.app) as browser:
        browser.cookies.update(cookies_of(who))
        return await browser.post(f"/api/v1/skills/{name}/rescan")


async def test_a_rescan_is_the_same_while_it_waits_and_then_rests(registry: Registry) -> None:
    """G21, G52: one submission, whoever asks; the live version stays live; the next one is an hour away."""
    name = await publish(registry, "acme/tools", "Says hello.")
    alice, bob = await signed_in(registry.app, "alice"), await signed_in(registry.app, "bob")
    first = await rescan(registry, name, alice)
    assert (first.status_code, first.json()["state"]) == (200, "RECEIVED"), first.text
    second = await rescan(registry, name, bob)
    assert (second.json()["id"], second.json()["duplicate"]) == (first.json()["id"], True)
    assert (await read(registry, name))["skill"]["currentVersion"] == "1.0.0"
    await registry.work()
    third = await rescan(registry, name, bob)
    assert (third.status_code, third.json()["code"]) == (429, "too_many_attempts")
    assert 0 < int(third.headers["retry-after"]) <= 3_600
    owner = await rescan(registry, name, await signed_in(registry.app, "acme", github_id=9))
    assert owner.status_code == 200, "its owner need not wait for others"
    assert await audit_of(registry.app, "skill_rescan_requested") == [
        ("alice", "skill_rescan_requested", name), ("acme", "skill_rescan_requested", name),
    ]  # fmt: skip
    anonymous = await registry.client.post(f"/api/v1/skills/{name}/rescan")
    assert anonymous.status_code == 401


async def test_the_page_of_a_skill_has_a_button(registry: Registry) -> None:
    """Who is signed in gets to the submission that is looked at; who is not is led to the way in, and can post nothing."""
    name = await publish(registry, "acme/tools", "Says hello.")
    shown = (await registry.client.get(f"/skills/{name}")).text
    assert f'action="/skills/{name}/rescan"' not in shown
    assert "Sign in</a> to have it looked at again" in shown
    assert (await registry.client.post(f"/skills/{name}/rescan")).status_code == 401
    async with a_browser(registry.app) as browser:
        browser.cookies.update(cookies_of(await signed_in(registry.app, "alice")))
        assert f'action="/skills/{name}/rescan"' in (await browser.get(f"/skills/{name}")).text
        asked = await browser.post(f"/skills/{name}/rescan")
        assert asked.status_code == 303
        page = await browser.get(asked.headers["location"])
        assert (page.status_code, "RECEIVED" in page.text) == (200, True)
        await registry.work()
        again = await browser.post(f"/skills/{name}/rescan", headers={"Accept": "text/html"})
        assert (again.status_code, "retry-after" in again.headers) == (429, True)
        assert "<html" in again.text


async def test_what_waits_for_a_reviewer_is_not_taken_away(registry: Registry) -> None:
    """A rescan of a listing whose next version is in review answers with that."""
    name = await publish(registry, "acme/tools", "Says hello.", name="tidy")
    number = await waiting(registry)
    answer = await rescan(registry, name, await signed_in(registry.app, "alice"))
    assert (answer.json()["id"], answer.json()["state"]) == (number, "NEEDS_REVIEW")


async def test_not_too_many_a_day(registry: Registry) -> None:
    """The twenty-first listing has to wait for tomorrow."""
    alice = await signed_in(registry.app, "alice")
    for number in range(21):
        files = {"SKILL.md": a_skill("greet", description=f"Says {number}.")}
        registry.github.add_repository(f"acme/tools{number}", files=files)
        await registry.submit(f"acme/tools{number}", "greet")
    await registry.work()
    names = [f"acme/tools{number}/greet" for number in range(21)]
    answers = [(await rescan(registry, name, alice)).status_code for name in names]
    assert answers == [200] * 20 + [429]
