"""`assay verify NAME`, `assay keys` and `assay replay` against a registry of real processes."""

from pathlib import Path

from tests.cli.live import Live
from tests.cli.scan.skills_here import RULE, written
from tests.skills import a_skill


def submitted(live: Live, repository: str, body: str) -> str:
    """Publish a skill of a repository of its own."""
    live.github.add_repository(repository, files={"SKILL.md": a_skill("greet", body=body)})
    web = live.environment["ASSAY_GITHUB_WEB_URL"]
    ran = live.assay("submit", f"{web}/{repository}", "--name", "greet", "--wait")
    assert ran.code == 0, ran.out + ran.err
    return f"{repository}/greet"


def test_a_published_skill_is_verified_by_its_name(live: Live) -> None:
    name = submitted(live, "proved/tools", "Says something.")
    for wanted in (name, f"{name}@1.0.0"):
        checked = live.assay("verify", wanted, "--json").json
        assert (checked["ok"], checked["signed"]) == (True, True)
    assert "verified" in live.assay("verify", name).out
    for wrong in (f"{name}@9.9.9", "proved/tools/nothing"):
        assert live.assay("verify", wrong).code == 3, wrong
    assert live.assay("verify", "no name at all").code == 2


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
