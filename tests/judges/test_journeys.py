"""The paths of a submission through the judge, as its author sees them."""

from assay.llm.fake import FakeModel
from tests.conftest import Registry
from tests.skills import a_skill


async def test_a_prompt_only_skill_is_judged_and_verified(judged: Registry, model: FakeModel) -> None:
    """R42: what has no code files is never fast-approved, even at 100; the judge passes it."""
    judged.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    accepted = await judged.submit("acme/tools", "greet")
    await judged.work()
    detail = await judged.read(accepted["id"])
    arrows = [event["toState"] for event in detail["stateHistory"]]
    assert arrows == ["RECEIVED", "TIER1_SCANNING", "TIER2_SCANNING", "AUTO_APPROVED", "PUBLISHED"], detail
    assert [asked.judging for asked in model.asked] == ["instructions", "purpose"]
    served = (await judged.client.get("/api/v1/skills/acme/tools/greet")).json()
    assert (served["skill"]["certTier"], served["skill"]["certMethod"]) == ("VERIFIED", "judge")
