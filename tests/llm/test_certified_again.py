"""Recertification: listing, version and hallmark follow the newest verdict."""

import base64
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec
import pytest

from tests.support.deepscan.deliveries import CRITICAL, ManualNode
from tests.support.fake_llm import FakeModel
from tests.support.registry import Registry
from tests.support.review_cases import a_doubtful_skill, decide
from tests.support.skills import a_skill

pytestmark = pytest.mark.process


async def certified(registry: Registry, name: str) -> tuple[Any, ...]:
    """Return the content of the hallmark after comparing it with listing and version."""
    served = (await registry.client.get(f"/api/v1/skills/{name}")).json()
    skill, [version] = served["skill"], served["versions"]
    predicate = msgspec.json.decode(base64.b64decode(version["hallmark"]["payload"]))["predicate"]
    assert (predicate["tier"], predicate["score"]) == (version["certTier"], version["certScore"])
    assert (predicate["tier"], predicate["score"]) == (skill["certTier"], skill["certScore"])
    assert (predicate["skill"], predicate["commit"]) == (name, version["commit"])
    assert datetime.fromisoformat(predicate["certifiedAt"]) == datetime.fromisoformat(skill["certifiedAt"])
    seen = {(scan["tier"], scan["engine"], scan["ruleset"]) for scan in served["scans"]}
    assert {(scan["tier"], scan["engine"], scan["ruleset"]) for scan in predicate["scans"]} == seen
    return predicate["tier"], predicate["path"], predicate["outcome"], len(seen)


def asking(registry: Registry) -> Registry:
    """Return the registry with a policy without fast approval."""
    policy = replace(registry.tools.policy, fast_approve_threshold=100)
    return replace(registry, tools=replace(registry.tools, policy=policy))


async def test_newest_verdict_is_signed(judged: Registry, model: FakeModel) -> None:
    """G45: for the version as it was."""
    files = {"skills/greet/SKILL.md": a_skill("greet"), "skills/greet/run.py": "print('hello')\n"}
    repository = judged.github.add_repository("acme/tools", files=files)
    await judged.submit("acme/tools", "greet", "skills/greet/SKILL.md")
    await judged.work()
    assert await certified(judged, "acme/tools/greet") == ("SCANNED", "fast-approve", "PASS", 1)
    first = repository.sha
    repository.push({"README.md": "Another commit, the same skill.\n"})
    await judged.submit("acme/tools", "greet", "skills/greet/SKILL.md")
    await asking(judged).work()
    assert await certified(judged, "acme/tools/greet") == ("VERIFIED", "judged", "PASS", 2)
    listing = (await judged.client.get("/api/v1/skills/acme/tools/greet")).json()
    assert (listing["versions"][0]["commit"], repository.sha == first) == (first, False)
    kinds = [each["kind"] for each in (await judged.client.get("/api/v1/changes")).json()["changes"]]
    assert kinds == ["publish", "update"], "one round is one change"


async def test_trust_falls_back_with_the_version(judged: Registry) -> None:
    """G45, G52."""
    repository = judged.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    await judged.submit("acme/tools", "greet")
    await judged.work()
    assert await standing(judged) == ("1.0.0", "VERIFIED", 85, "T3")
    repository.push({"run.py": "print('hello')\n"})
    await judged.submit("acme/tools", "greet")
    await judged.work()
    assert await standing(judged) == ("1.0.1", "SCANNED", 60, "T2")
    node = ManualNode(judged)
    work, live = await node.claim(), (await judged.client.get("/api/v1/skills/acme/tools/greet")).json()["skill"]
    places = [scan["contentDigest"] for scan in work["scans"]]
    answer = await node.deliver(node.result(work, places.index(live["contentDigest"]), findings=[CRITICAL]))
    assert answer.json()["withdrawn"] == ["acme/tools/greet"]
    assert await standing(judged) == ("1.0.0", "VERIFIED", 85, "T3")


async def standing(registry: Registry) -> tuple[Any, ...]:
    """Return tier and trust of a listing."""
    skill = (await registry.client.get("/api/v1/skills/acme/tools/greet")).json()["skill"]
    return tuple(skill[name] for name in ("currentVersion", "certTier", "trustScore", "trustTier"))


async def test_approval_is_kept_for_other_submissions(registry: Registry) -> None:
    """another spelling of the name does not need another review."""
    files = {f"skills/tidy/{path}": text for path, text in a_doubtful_skill().items()}
    registry.github.add_repository("acme/tools", files=files)
    number = (await registry.submit("acme/tools", "tidy", "skills/tidy/SKILL.md"))["id"]
    await registry.work()
    assert (await decide(registry, number, "approve")).status_code == 200
    assert await certified(registry, "acme/tools/tidy") == ("CERTIFIED", "reviewed", "CONCERNS", 1)
    other = (await registry.submit("acme/tools", "Tidy", "skills/tidy/SKILL.md"))["id"]
    lenient = replace(registry.tools.policy, publish_score=50)
    await replace(registry, tools=replace(registry.tools, policy=lenient)).work()
    assert (other != number, (await registry.read(other))["state"]) == (True, "PUBLISHED")
    assert await certified(registry, "acme/tools/tidy") == ("CERTIFIED", "reviewed", "PASS", 1)
