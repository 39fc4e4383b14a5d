"""One skill from submission to serving."""

import pytest

from assay.certify.hallmark import open_hallmark
from tests.support.registry import Registry
from tests.support.skills import a_bad_skill, a_repository, a_skill

pytestmark = pytest.mark.process


async def test_good_skill_is_published_with_a_verifiable_hallmark(registry: Registry) -> None:
    """G3, G62: listed, and found by name and repository."""
    repository = registry.github.add_repository(
        "Acme/Tools", files=a_repository("pdf"), default_branch="trunk", stars=7
    )
    accepted = await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    assert accepted["state"] == "RECEIVED"
    await registry.work()

    detail = await registry.read(accepted["id"])
    assert detail["state"] == "PUBLISHED"
    assert detail["publishedSkillName"] == "acme/tools/pdf"
    arrows = [(event["fromState"], event["toState"]) for event in detail["stateHistory"]]
    assert arrows == [
        (None, "RECEIVED"),
        ("RECEIVED", "TIER1_SCANNING"),
        ("TIER1_SCANNING", "AUTO_APPROVED"),
        ("AUTO_APPROVED", "PUBLISHED"),
    ]
    assert detail["stageTimings"]["msInScanning"] is not None

    served = (await registry.client.get("/api/v1/skills/acme/tools/pdf")).json()
    assert served["skill"]["commit"] == repository.sha
    assert served["skill"]["githubStars"] == 7
    assert [file["path"] for file in served["files"]] == ["SKILL.md"]
    keys = (await registry.client.get("/.well-known/assay/keys.json")).json()["keys"]
    statement = open_hallmark(served["versions"][0]["hallmark"], {key["id"]: key["publicKey"] for key in keys})
    assert statement is not None
    digest = served["skill"]["contentDigest"].removeprefix("sha256:")
    assert statement["subject"][0] == {"name": "content", "digest": {"sha256": digest}}

    for words in ("pdf", "acme/tools", "https://github.com/acme/tools", "tool", "language"):
        hits = (await registry.client.get("/api/v1/skills/search", params={"q": words})).json()["results"]
        assert [hit["name"] for hit in hits] == ["acme/tools/pdf"], words


async def test_bad_skill_is_refused_with_rule_file_and_line(registry: Registry) -> None:
    """G13: with the remedy; nothing is listed."""
    registry.github.add_repository("mallory/kit", files=a_bad_skill())
    accepted = await registry.submit("mallory/kit", "steal")
    await registry.work()

    detail = await registry.read(accepted["id"])
    assert detail["state"] == "TIER1_FAILED"
    assert "scripts/setup.sh line 2" in detail["reason"]["message"]
    assert detail["reason"]["nextStep"]
    findings = detail["scanResults"][0]["findings"]
    assert ("scripts/setup.sh", 2) in {(finding["file"], finding["line"]) for finding in findings}
    assert (await registry.client.get("/api/v1/skills")).json()["total"] == 0


async def test_new_content_creates_a_version_and_unchanged_content_does_not(registry: Registry) -> None:
    """G50."""
    repository = registry.github.add_repository("acme/tools", files=a_repository("pdf", "csv"))
    first = await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    await registry.work()
    repository.push({"README.md": "An unrelated change."})
    again = await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    assert again["alreadyVerified"]
    await registry.work()
    versions = (await registry.client.get("/api/v1/skills/acme/tools/pdf")).json()["versions"]
    assert [version["version"] for version in versions] == ["1.0.0"]

    repository.push({"skills/pdf/SKILL.md": a_skill("pdf", description="Reads PDF files.")})
    third = await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    assert first["id"] == again["id"] == third["id"]
    await registry.work()
    served = (await registry.client.get("/api/v1/skills/acme/tools/pdf")).json()
    assert [version["version"] for version in served["versions"]] == ["1.0.1", "1.0.0"]
    assert served["skill"]["description"] == "Reads PDF files."


async def test_live_version_stays_when_an_update_is_refused(registry: Registry) -> None:
    """G52."""
    repository = registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    accepted = await registry.submit("acme/tools", "greet")
    await registry.work()
    repository.push(a_bad_skill("greet"))
    await registry.submit("acme/tools", "greet")
    await registry.work()
    assert (await registry.read(accepted["id"]))["state"] == "TIER1_FAILED"
    served = (await registry.client.get("/api/v1/skills/acme/tools/greet")).json()
    assert served["skill"]["currentVersion"] == "1.0.0"
    assert [file["path"] for file in served["files"]] == ["SKILL.md"]


async def test_skills_of_a_repository_share_one_lookup_and_archive(registry: Registry) -> None:
    """G35: two API calls and one download."""
    names = [f"skill-{number}" for number in range(40)]
    registry.github.add_repository("acme/many", files=a_repository(*names))
    for name in names:
        await registry.submit("acme/many", name, f"skills/{name}/SKILL.md")
    await registry.work()
    stats = (await registry.client.get("/api/v1/submissions/stats")).json()
    assert stats["published"] == len(names)
    assert registry.github.count_api() == 2
    assert registry.github.count("archive") == 1
