"""Rescans on request."""

from typing import Any

import pytest

from tests.support.catalogue import publish, read
from tests.support.registry import Registry
from tests.support.review_cases import waiting
from tests.support.skills import a_skill
from tests.support.web.people import a_browser, audit_of, cookies_of, signed_in

pytestmark = pytest.mark.process


async def rescan(registry: Registry, name: str, who: Any) -> Any:
    """Request a rescan."""
    async with a_browser(registry.app) as browser:
        browser.cookies.update(cookies_of(who))
        return await browser.post(f"/api/v1/skills/{name}/rescan")


async def test_concurrent_rescans_share_a_submission(registry: Registry) -> None:
    """G21, G52: the live version stays; the next rescan is possible after an hour."""
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
    owner = await rescan(registry, name, await signed_in(registry.app, "acme"))
    assert owner.status_code == 200, "its owner need not wait for others"
    assert await audit_of(registry.app, "skill_rescan_requested") == [
        ("alice", "skill_rescan_requested", name), ("acme", "skill_rescan_requested", name),
    ]  # fmt: skip
    anonymous = await registry.client.post(f"/api/v1/skills/{name}/rescan")
    assert anonymous.status_code == 401


async def test_rescan_button(registry: Registry) -> None:
    """anonymous visitors are sent to sign in."""
    name = await publish(registry, "acme/tools", "Says hello.")
    shown = (await registry.client.get(f"/skills/{name}")).text
    assert f'action="/skills/{name}/rescan"' not in shown
    assert "Sign in</a> to request a rescan" in shown
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


async def test_rescan_does_not_interrupt_a_review(registry: Registry) -> None:
    name = await publish(registry, "acme/tools", "Says hello.", name="tidy")
    number = await waiting(registry)
    answer = await rescan(registry, name, await signed_in(registry.app, "alice"))
    assert (answer.json()["id"], answer.json()["state"]) == (number, "NEEDS_REVIEW")


async def test_rescans_are_rate_limited(registry: Registry) -> None:
    alice = await signed_in(registry.app, "alice")
    for number in range(21):
        files = {"SKILL.md": a_skill("greet", description=f"Says {number}.")}
        registry.github.add_repository(f"acme/tools{number}", files=files)
        await registry.submit(f"acme/tools{number}", "greet")
    await registry.work()
    names = [f"acme/tools{number}/greet" for number in range(21)]
    answers = [(await rescan(registry, name, alice)).status_code for name in names]
    assert answers == [200] * 20 + [429]
