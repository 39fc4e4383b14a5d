"""Custom rules: replayed, activated by a restart, and applied to everything published."""

from importlib import resources
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from assay.maintenance.replay_ruleset import FIND_STALE
from assay.scan.ruleset import VOCABULARY
from tests.support.cli.live import assay
from tests.support.cli.skills_here import written
from tests.support.processes import a_process, environment, until
from tests.support.registry import SECRET, Registry, open_registry
from tests.support.rulesets import HOUSE
from tests.support.skills import a_skill

pytestmark = pytest.mark.process

MIRROR, PLAIN = "acme/tools/mirror", "acme/tools/plain"


def house_rules(folder: Path) -> Path:
    """Add one rule and empty the pattern-only families, whose engine takes long to compile."""
    shipped = resources.files("assay.scan").joinpath("rules")
    families = {each.name: each.read_text("utf-8") for each in shipped.iterdir() if each.name.endswith(".toml")}
    emptied = [name for name, rules in families.items() if "\ncheck = " not in rules and name != VOCABULARY]
    return written(
        folder,
        dict.fromkeys(emptied, 'family = "emptied"\nrule = []\n') | {"house.toml": HOUSE.format(severity="critical")},
    )


async def test_operator_activates_custom_rules(registry: Registry, tmp_path: Path) -> None:
    """Replay shows the effect; after a restart, content is rescanned in the background and refused versions are
    yanked with the reason.
    """
    before, house = registry.app.settings, house_rules(tmp_path / "house")
    after = before.model_copy(update={"ruleset": house})
    mirror = a_skill("mirror", body="Packages are at mirror.example.com.")
    registry.github.add_repository(
        "acme/tools", files={"skills/mirror/SKILL.md": mirror, "skills/plain/SKILL.md": a_skill("plain")}
    )
    with a_process("worker", before, tmp_path / "worker.log") as worker:
        for name in ("mirror", "plain"):
            await registry.submit("acme/tools", name, f"skills/{name}/SKILL.md")
        await registry.until_idle()
        worker.terminate()
        assert worker.wait(30) == 0
    [flip] = assay("replay", "--ruleset", str(house), "--json", environment=environment(before)).json["flips"]
    assert (flip["name"], flip["newDecision"]) == (MIRROR, "refuse")
    await a_minute_passes(registry)
    async with open_registry(after, registry.github) as restarted:
        client = restarted.client
        for name in (MIRROR, PLAIN):
            assert [scan["stale"] for scan in await scans_of(client, name)] == [True]
        with a_process("worker", after, tmp_path / "house-worker.log"):
            await until(lambda: is_looked_at(registry))
            await restarted.until_idle()
        listed = (await client.get("/api/v1/skills")).json()["skills"]
        assert [each["name"] for each in listed] == [PLAIN]
        version = (await client.get(f"/api/v1/skills/{MIRROR}/versions/1.0.0")).json()
        assert (version["status"], version["reason"]["code"]) == ("yanked", "tier1_findings")
        assert "HR-001 in SKILL.md line 8" in version["reason"]["message"]
        for name in (MIRROR, PLAIN):
            assert [scan["stale"] for scan in await scans_of(client, name)] == [False, True]
        submitted = (await client.get("/api/v1/submissions?q=mirror")).json()["submissions"]
        assert [(each["state"], each["reason"]["code"]) for each in submitted] == [("TIER1_FAILED", "tier1_findings")]
        again = (await client.post("/api/v1/admin/replay", json={}, headers={"X-Internal-Key": SECRET})).json()
        assert again["ruleset"] == restarted.app.ruleset.version


async def scans_of(client: httpx.AsyncClient, name: str) -> list[dict[str, Any]]:
    """Return the scans of a version, newest first."""
    answer = await client.get(f"/api/v1/skills/{name}/versions/1.0.0/report")
    assert answer.status_code == 200, answer.text
    return answer.json()["scans"]


async def a_minute_passes(registry: Registry) -> None:
    """Let the periodic job that finds stale verdicts become due."""
    async with registry.app.store.begin() as db:
        moved = "UPDATE chore SET succeeded_at = succeeded_at - interval '1 minute' WHERE name = :name"
        await db.execute(text(moved), {"name": FIND_STALE})


async def is_looked_at(registry: Registry) -> bool:
    """Return whether both skills have been rescanned and none is due."""
    async with registry.app.store.begin() as db:
        waiting = (await db.execute(text("SELECT count(*) FROM second_look"))).scalar_one()
    counted = [len(await scans_of(registry.client, name)) for name in (MIRROR, PLAIN)]
    return waiting == 0 and counted == [2, 2]
