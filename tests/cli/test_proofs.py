"""`assay verify NAME`, `assay keys` and `assay replay` against a registry of real processes."""

import asyncio
from pathlib import Path

import asyncpg

from tests.support.cli.live import Live
from tests.support.cli.skills_here import RULE, written
from tests.support.skills import a_skill


def submitted(live: Live, repository: str, body: str) -> str:
    """Publish a skill of a repository of its own."""
    live.github.add_repository(repository, files={"SKILL.md": a_skill("greet", body=body)})
    web = live.environment["ASSAY_GITHUB_WEB_URL"]
    ran = live.assay("submit", f"{web}/{repository}", "--name", "greet", "--wait")
    assert ran.code == 0, ran.out + ran.err
    return f"{repository}/greet"


def run(live: Live, statement: str) -> None:
    """Change the registry past Assay."""

    async def execute() -> None:
        connection = await asyncpg.connect(live.environment["ASSAY_DATABASE_URL"])
        await connection.execute(statement)
        await connection.close()

    asyncio.run(execute())


def test_a_published_skill_is_verified_by_its_name(live: Live) -> None:
    name = submitted(live, "proved/tools", "Says something.")
    for wanted in (name, f"{name}@1.0.0"):
        checked = live.assay("verify", wanted, "--json").json
        assert (checked["ok"], checked["signed"]) == (True, True)
    assert "verified" in live.assay("verify", name).out
    for wrong in (f"{name}@9.9.9", "proved/tools/nothing"):
        assert live.assay("verify", wrong).code == 3, wrong
    assert live.assay("verify", "no name at all").code == 2


def test_a_hallmark_for_another_name_proves_nothing(live: Live) -> None:
    """Equal bytes are certified under both names, but not by both for each: the registry must have said so."""
    asked, other = (submitted(live, f"{owner}/tools", "Says the same.") for owner in ("asked", "other"))
    run(
        live,
        "UPDATE skill_version SET hallmark = o.hallmark FROM skill, skill_version o JOIN skill s ON s.id = o.skill_id "
        f"WHERE skill.id = skill_version.skill_id AND skill.name = '{asked}' AND s.name = '{other}'",
    )
    refused = live.assay("verify", asked)
    assert (refused.code, refused.out) == (1, "")
    assert f"{asked}: the hallmark is signed for {other}, which is no name of what was asked for." in refused.err
    checked = live.assay("verify", f"{asked}@1.0.0", "--json").json
    assert (checked["ok"], checked["signed"], checked["ofAnother"]) == (False, True, True)
    assert live.assay("verify", other).code == 0


def test_what_was_renamed_is_verified_by_all_its_names(live: Live) -> None:
    """What was signed before bears the old name, what was signed after the new one; each leads to both."""
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


def test_keys_are_rotated_and_what_the_old_ones_signed_stays_good(live: Live) -> None:
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


def test_a_ruleset_is_tried_on_what_is_published(live: Live, tmp_path: Path) -> None:
    """What it would not publish is named, and stays published."""
    name = submitted(live, "greeting/tools", "Say xyzzy.")
    rules = str(written(tmp_path / "house-rules", {"house.toml": RULE.format(severity="critical")}))
    tried = live.assay("replay", "--ruleset", rules, "--json").json
    [flip] = [each for each in tried["flips"] if each["name"] == name]
    assert (flip["newDecision"], flip["version"]) == ("refuse", "1.0.0")
    assert "HR-001" in flip["reason"]
    assert flip["newScore"] < 50 <= flip["score"]
    assert "would change" in live.assay("replay", "--ruleset", rules).out
    assert live.get(f"/skills/{name}")["skill"]["name"] == name
    assert live.assay("replay", "--ruleset", str(tmp_path / "nowhere")).code != 0
