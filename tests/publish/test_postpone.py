"""Retries, rate limits and FAILED."""

import pytest

from tests.support.registry import Registry
from tests.support.skills import a_skill

pytestmark = pytest.mark.process


async def test_outage_is_retried_then_failed(registry: Registry) -> None:
    """G36, G43: after four attempts."""
    registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    registry.github.fail("commit", status=502, times=None)
    accepted = await registry.submit("acme/tools", "greet")
    await registry.work()
    detail = await registry.read(accepted["id"])
    assert (detail["state"], detail["attempts"]) == ("FAILED", 4)
    assert detail["reason"]["code"] == "github_unavailable"
    assert "502" in detail["reason"]["message"]
    assert detail["reason"]["nextStep"]
    registry.github.heal()
    assert (await registry.submit("acme/tools", "greet"))["state"] == "RECEIVED"
    await registry.work()
    detail = await registry.read(accepted["id"])
    assert (detail["state"], detail["attempts"], detail["reason"]) == ("PUBLISHED", 0, None)


async def test_short_outage_costs_one_attempt(registry: Registry) -> None:
    registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    registry.github.fail("archive", status=500, times=1)
    accepted = await registry.submit("acme/tools", "greet")
    await registry.work()
    detail = await registry.read(accepted["id"])
    assert (detail["state"], detail["attempts"]) == ("PUBLISHED", 1)


async def test_rate_limit_costs_no_attempt(registry: Registry) -> None:
    """G34."""
    registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    registry.github.secondary_limit("repo", retry_after=1, times=2)
    accepted = await registry.submit("acme/tools", "greet")
    await registry.work()
    detail = await registry.read(accepted["id"])
    assert (detail["state"], detail["attempts"]) == ("PUBLISHED", 0)


async def test_missing_skill_is_rejected_with_alternatives(registry: Registry) -> None:
    """G38."""
    registry.github.add_repository("acme/app", files={"README.md": "An app.", "tools/pdf/SKILL.md": a_skill("pdf")})
    wrong = await registry.submit("acme/app", "pdf")
    gone = await registry.submit("acme/nowhere", "pdf")
    await registry.work()
    detail = await registry.read(wrong["id"])
    assert (detail["state"], detail["reason"]["code"]) == ("REJECTED", "skill_not_in_source")
    assert "tools/pdf/SKILL.md" in detail["reason"]["message"]
    detail = await registry.read(gone["id"])
    assert (detail["state"], detail["reason"]["code"]) == ("REJECTED", "source_not_found")
