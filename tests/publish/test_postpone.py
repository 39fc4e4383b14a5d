"""What cannot be examined now is postponed, and in the end FAILED: never a verdict, never silence."""

from tests.support.registry import Registry
from tests.support.skills import a_skill


async def test_an_outage_is_retried_and_then_fails_with_the_reason(registry: Registry) -> None:
    """G36, G43: four attempts in all, then FAILED, which is its own state and can be submitted again."""
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


async def test_a_short_outage_costs_an_attempt_and_nothing_else(registry: Registry) -> None:
    """One failure, one retry, published."""
    registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    registry.github.fail("archive", status=500, times=1)
    accepted = await registry.submit("acme/tools", "greet")
    await registry.work()
    detail = await registry.read(accepted["id"])
    assert (detail["state"], detail["attempts"]) == ("PUBLISHED", 1)


async def test_a_rate_limit_is_waited_for_and_costs_no_attempt(registry: Registry) -> None:
    """G34: GitHub's limit is a delay with a reason, not a failure and never "not found"."""
    registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    registry.github.secondary_limit("repo", retry_after=1, times=2)
    accepted = await registry.submit("acme/tools", "greet")
    await registry.work()
    detail = await registry.read(accepted["id"])
    assert (detail["state"], detail["attempts"]) == ("PUBLISHED", 0)


async def test_a_missing_source_is_refused_with_what_there_is(registry: Registry) -> None:
    """G38: a repository without the skill is REJECTED, and the author sees where skills were found."""
    registry.github.add_repository("acme/app", files={"README.md": "An app.", "tools/pdf/SKILL.md": a_skill("pdf")})
    wrong = await registry.submit("acme/app", "pdf")
    gone = await registry.submit("acme/nowhere", "pdf")
    await registry.work()
    detail = await registry.read(wrong["id"])
    assert (detail["state"], detail["reason"]["code"]) == ("REJECTED", "skill_not_in_source")
    assert "tools/pdf/SKILL.md" in detail["reason"]["message"]
    detail = await registry.read(gone["id"])
    assert (detail["state"], detail["reason"]["code"]) == ("REJECTED", "source_not_found")
