"""`assay seed`, `import kv`, `rebuild-index` and `health` against real processes."""

import json
import time
from pathlib import Path

import pytest

from assay.serve.skills.starter import starter_skills
from tests.support.cli.live import Live
from tests.support.skills import a_repository, a_skill

pytestmark = pytest.mark.process

REFUSED = {each.full_name for each in starter_skills() if ".claude/" in each.path}


def test_seed_submits_the_starter_catalogue(live: Live) -> None:
    """G14, G18: 118 entries in one bulk request; refused paths are reported; a second run changes nothing."""
    first = live.assay("seed", "--json")
    assert first.json["total"] == len(starter_skills()) == 118
    assert first.json["created"] == 118 - len(REFUSED)
    assert first.json["errors"] == len(REFUSED)
    assert first.code == (2 if REFUSED else 0)
    again = live.assay("seed")
    assert "created" not in again.out
    queue = live.get("/submissions?limit=1&q=superpowers")
    assert queue["total"] >= 1


def test_import_of_a_key_value_dump(live: Live, tmp_path: Path) -> None:
    """G70: lines become submissions; invalid lines are reported by number."""
    live.github.add_repository("dumped/tools", files=a_repository("pdf", "csv", "old"))
    live.github.add_repository("dumped/single", files={"SKILL.md": a_skill("single")})
    web = live.environment["ASSAY_GITHUB_WEB_URL"]
    assert (
        live.assay("submit", f"{web}/dumped/tools", "--name", "old", "--path", "skills/old/SKILL.md", "--wait").code
        == 0
    )
    tools = {"repoUrl": f"{web}/dumped/tools", "certTier": "VERIFIED", "certScore": 91, "labels": ["x"]}
    lines = [
        {"key": "skill:dumped/tools/pdf", "value": {**tools, "slug": "pdf", "name": "pdf", "displayName": "PDF"}},
        {"key": "skill:csv", "value": json.dumps({**tools, "name": "csv"})},
        {"key": "skill:old", "value": {**tools, "slug": "old"}},
        {"key": "skills:published-index", "value": []},
        {"key": "sub:1", "value": {}},
        {"key": "skill:single", "value": {"repoUrl": f"{web}/dumped/single", "name": "single"}},
        {"key": "skill:gone", "value": {"repoUrl": f"{web}/dumped/nowhere", "name": "gone"}},
        {"key": "skill:lost", "value": {**tools, "name": "lost"}},
        {"key": "skill:path", "value": {**tools, "name": "pdf-2", "skillPath": "skills/pdf/SKILL.md"}},
        {"key": "skill:elsewhere", "value": {"repoUrl": "https://elsewhere.example/a/b", "name": "xx"}},
        {"key": "skill:bare", "value": {"name": "no-repository"}},
    ]
    dump = tmp_path / "dump.jsonl"
    dump.write_text("\n".join([*map(json.dumps, lines), "", "{not json"]) + "\n")
    first = live.assay("import", "kv", str(dump), "--json")
    assert first.code == 2, first.err
    assert (first.json["prismaBackfilled"], first.json["alreadyListed"], first.json["alreadySubmitted"]) == (4, 1, 0)
    assert [each["line"] for each in first.json["problems"]] == [7, 8, 10, 11, 13]
    assert first.json["errors"] == 5
    assert {"pdf", "csv", "pdf-2"} <= set(live.submissions_of("dumped/tools"))
    again = live.assay("import", "kv", str(dump))
    assert "0 submitted" in again.out
    assert "line 13: The line cannot be read" in again.err
    assert live.assay("import", "kv", str(tmp_path / "none.jsonl")).code == 2


def test_health_and_rebuild_of_the_edge_copy(live: Live) -> None:
    """G70, G71: `health` names the command that repairs the drift."""
    live.github.add_repository("edge/tools", files=a_repository("pdf"))
    web = live.environment["ASSAY_GITHUB_WEB_URL"]
    submitted = live.assay("submit", f"{web}/edge/tools", "--name", "pdf", "--path", "skills/pdf/SKILL.md", "--wait")
    assert submitted.code == 0, submitted.err
    done = live.assay("rebuild-index", "--json")
    assert done.code == 0, done.err
    assert set(done.json) == {"ok", "rebuilt", "errors", "orphanedAliases", "prismaBackfilled"}
    assert done.json["rebuilt"] >= 1
    deadline = time.monotonic() + 60
    while (seen := live.assay("health", "--json")).json["drift_detected"] and time.monotonic() < deadline:
        live.assay("rebuild-index")  # the seeded skills are refused meanwhile
    assert seen.code == 0, seen.out
    assert seen.json["kv_enumerated_count"] == seen.json["prisma_count"] >= 1
    assert "The edge copy agrees" in live.assay("health").out
