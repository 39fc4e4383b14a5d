"""`assay verify NAME`, `assay keys` and `assay replay` against real processes."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from tests.support.cli.live import Live
from tests.support.cli.skills_here import RULE, written
from tests.support.skills import a_skill

pytestmark = pytest.mark.process


def submitted(live: Live, repository: str, body: str) -> str:
    """Publish a skill in its own repository."""
    live.github.add_repository(repository, files={"SKILL.md": a_skill("greet", body=body)})
    web = live.environment["ASSAY_GITHUB_WEB_URL"]
    ran = live.assay("submit", f"{web}/{repository}", "--name", "greet", "--wait")
    assert ran.code == 0, ran.out + ran.err
    return f"{repository}/greet"


def run(live: Live, statement: str) -> None:
    """Change the database directly."""

    async def execute() -> None:
        connection = await asyncpg.connect(live.environment["ASSAY_DATABASE_URL"])
        await connection.execute(statement)
        await connection.close()

    asyncio.run(execute())


def test_published_skill_is_verified_by_name(live: Live) -> None:
    name = submitted(live, "proved/tools", "Says something.")
    for wanted in (name, f"{name}@1.0.0"):
        checked = live.assay("verify", wanted, "--json").json
        assert (checked["ok"], checked["signed"]) == (True, True)
    assert "verified" in live.assay("verify", name).out
    for wrong in (f"{name}@9.9.9", "proved/tools/nothing"):
        assert live.assay("verify", wrong).code == 3, wrong
    assert live.assay("verify", "no name at all").code == 2


def test_hallmark_of_another_name_is_rejected(live: Live) -> None:
    """Equal content is certified separately under each name."""
    asked, other = (submitted(live, f"{owner}/tools", "Says the same.") for owner in ("asked", "other"))
    run(
        live,
        "UPDATE skill_version SET hallmark = o.hallmark FROM skill, skill_version o JOIN skill s ON s.id = o.skill_id "
        f"WHERE skill.id = skill_version.skill_id AND skill.name = '{asked}' AND s.name = '{other}'",
    )
    refused = live.assay("verify", asked)
    assert (refused.code, refused.out) == (1, "")
    assert f"{asked}: the hallmark is signed for {other}, not for the requested skill." in refused.err
    checked = live.assay("verify", f"{asked}@1.0.0", "--json").json
    assert (checked["ok"], checked["signed"], checked["ofAnother"]) == (False, True, True)
    assert live.assay("verify", other).code == 0


def test_renamed_skill_is_verified_by_all_its_names(live: Live) -> None:
    """Hallmarks before and after the rename are both accepted."""
    old = submitted(live, "before/tools", "Says one thing.")
    repository, _ = live.github.directory.find("before/tools")
    assert repository is not None
    repository.rename("after/tools")
    repository.push({"SKILL.md": a_skill("greet", body="Says another thing.")})
    web = live.environment["ASSAY_GITHUB_WEB_URL"]
    ran = live.assay("submit", f"{web}/before/tools", "--name", "greet", "--wait")
    assert ran.code == 0, ran.out + ran.err
    new = "after/tools/greet"
    for name in (old, new, new.upper()):
        versions = {number: live.assay("verify", f"{name}@{number}", "--json").json for number in ("1.0.0", "latest")}
        assert {each["ok"] for each in versions.values()} == {True}, versions
        assert [each["statement"]["skill"] for each in versions.values()] == [old, new]


def test_rotated_keys_still_verify_old_hallmarks(live: Live) -> None:
    name = submitted(live, "signed/tools", "Says something else.")
    before = live.assay("keys", "list", "--json").json["keys"]
    assert {each["algorithm"] for each in before} == {"ed25519", "ecdsa-p256"}
    assert all(each["retiredAt"] is None for each in before)
    rotated = live.assay("keys", "rotate")
    assert rotated.code == 0
    assert "Restart" in rotated.out
    after = {each["id"]: each for each in live.assay("keys", "list", "--json").json["keys"]}
    assert len(after) == 2 * len(before)
    assert all(after[each["id"]]["retiredAt"] is not None for each in before)
    assert live.assay("verify", name, "--json").json["ok"] is True
    assert all(each["id"] in live.assay("keys", "list").out for each in before)


def test_replay_reports_without_changing_anything(live: Live, tmp_path: Path) -> None:
    name = submitted(live, "greeting/tools", "Say xyzzy.")
    rules = str(written(tmp_path / "house-rules", {"house.toml": RULE.format(severity="critical")}))
    tried = live.assay("replay", "--ruleset", rules, "--json").json
    [flip] = [each for each in tried["flips"] if each["name"] == name]
    assert (flip["newDecision"], flip["version"]) == ("refuse", "1.0.0")
    assert "HR-001" in flip["reason"]
    assert flip["newScore"] < 50 <= flip["score"]
    assert "would no longer be approved" in live.assay("replay", "--ruleset", rules).out
    assert live.get(f"/skills/{name}")["skill"]["name"] == name
    assert live.assay("replay", "--ruleset", str(tmp_path / "nowhere")).code != 0
