"""Skills of other git hosts."""

from datetime import timedelta
from pathlib import Path

import pytest

from assay.app.maintenance import open_upstream_watcher
from assay.discover.source import Cadence
from assay.discover.sources.repository_list import RepositoryList
from assay.discover.web import Web
from tests.support.discover.crawling import crawl
from tests.support.git_server import GitServer
from tests.support.registry import SECRET, Registry
from tests.support.skills import a_repository, a_skill

pytestmark = pytest.mark.process


async def submit(registry: Registry, url: str, **more: str) -> dict:
    """Submit over HTTP."""
    answer = await registry.client.post("/api/v1/submissions", json={"repoUrl": url, **more})
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


async def test_skill_of_another_host_has_its_own_name(registry, server: GitServer) -> None:
    """G54: next to the same owner and name on GitHub."""
    server.push("acme/tools", {"skills/pdf/SKILL.md": a_skill("pdf"), "skills/pdf/run.py": "print()"})
    registry.github.add_repository("acme/tools", a_repository("pdf"))
    there = await submit(registry, server.url("acme/tools.git"), skillName="pdf", skillPath="skills/pdf/SKILL.md")
    here = await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    assert there["id"] != here["id"]
    await registry.work()
    told = await registry.read(there["id"])
    assert (told["state"], told["repoUrl"]) == ("PUBLISHED", server.url("acme/tools"))
    listing = f"{server.host}~acme/tools/pdf"
    shown = (await registry.client.get(f"/api/v1/skills/{listing}")).json()["skill"]
    assert (shown["name"], shown["repoUrl"]) == (listing, server.url("acme/tools"))
    page = await registry.client.get(f"/skills/{listing}")
    assert f'href="{server.url("acme/tools")}/commit/{shown["commit"]}"' in page.text
    assert (await registry.client.get("/api/v1/skills/acme/tools/pdf")).status_code == 200


async def test_repository_of_another_host_is_submitted(registry, server: GitServer) -> None:
    """nested groups and folder pages."""
    server.push("acme/agents/tools", a_repository("pdf", "csv"))
    url = server.url("acme/agents/tools")
    found = (await registry.client.post("/api/v1/submissions/discover", json={"repoUrl": url})).json()
    assert [each["path"] for each in found["skills"]] == ["skills/csv/SKILL.md", "skills/pdf/SKILL.md"]
    await submit(registry, f"{url}/-/tree/trunk/skills/pdf")
    await submit(registry, url)
    await registry.work()
    names = {each["name"] for each in (await registry.client.get("/api/v1/skills")).json()["skills"]}
    assert names == {f"{server.host}~acme~agents/tools/{name}" for name in ("pdf", "csv")}
    listed = (await registry.client.get("/api/v1/submissions", params={"repoUrl": url})).json()["submissions"]
    assert len(listed) == 2


async def test_skills_of_one_commit_share_a_fetch(registry, server: GitServer) -> None:
    server.push("acme/tools", a_repository(*(f"skill-{number}" for number in range(12))))
    await submit(registry, server.url("acme/tools"))
    server.requests.clear()
    await registry.work()
    assert len([each for each in server.requests if each.startswith("POST") and "upload-pack" in each]) <= 4
    assert (await registry.client.get("/api/v1/skills")).json()["total"] == 12


async def test_changes_on_another_host_are_noticed(registry, server: GitServer) -> None:
    server.push("acme/tools", {"SKILL.md": a_skill("pdf")})
    accepted = await submit(registry, server.url("acme/tools"), skillName="pdf")
    await registry.work()
    server.push("acme/tools", {"SKILL.md": a_skill("pdf") + "\nMore.\n"})
    watch = open_upstream_watcher(registry.app)
    async with registry.app.store.begin() as db:
        await db.exec_driver_sql("UPDATE upstream_check SET due_at = now() - interval '1 second'")
    assert await watch.run_batch() == 1
    await registry.work()
    assert (await registry.read(accepted["id"]))["state"] == "PUBLISHED"
    versions = (await registry.client.get(f"/api/v1/skills/{server.host}~acme/tools/pdf/versions")).json()["versions"]
    assert len(versions) == 2
    assert watch.every == timedelta(seconds=registry.app.settings.watch_seconds)


async def test_missing_repository_is_refused_with_its_reason(registry, server: GitServer) -> None:
    """G36."""
    accepted = await submit(registry, server.url("acme/none"), skillName="pdf")
    await registry.work()
    told = await registry.read(accepted["id"])
    assert (told["state"], told["reason"]["code"]) == ("REJECTED", "source_not_found")
    answer = await registry.client.post("/api/v1/submissions", json={"repoUrl": server.url("acme/none")})
    assert (answer.status_code, answer.json()["code"]) == (404, "source_not_found")


async def test_bulk_enqueue_accepts_other_hosts(registry, server: GitServer) -> None:
    """G17, G19."""
    server.push("acme/tools", a_repository("pdf", "csv"))
    registry.github.add_repository("acme/tools", a_repository("pdf"))
    good = [
        {"repoUrl": server.url("acme/tools"), "skillName": "pdf", "skillPath": "skills/pdf/SKILL.md"},
        {"repoUrl": f"{server.url('acme/tools')}/src/branch/trunk/skills/csv", "skillName": "csv"},
        {"repoUrl": f"{registry.web_url}/acme/tools", "skillName": "pdf", "skillPath": "skills/pdf/SKILL.md"},
    ]
    hostile = [f"http://user@{server.host}/acme/tools", server.url("acme/--upload-pack=x"), server.url("acme")]
    items = [*good, *({"repoUrl": url, "skillName": "bad"} for url in hostile)]
    answer = await registry.client.post(
        "/api/v1/admin/queue/bulk-enqueue", json={"items": items}, headers={"X-Internal-Key": SECRET}
    )
    told = answer.json()
    assert (told["enqueued"], told["invalid"]) == (3, len(hostile))
    assert all("repoUrl" in each for each in told["errors"])
    assert server.requests == []
    await registry.work()
    names = {each["name"] for each in (await registry.client.get("/api/v1/skills")).json()["skills"]}
    assert names == {f"{server.host}~acme/tools/pdf", f"{server.host}~acme/tools/csv", "acme/tools/pdf"}


async def test_discovery_accepts_other_hosts(registry, server: GitServer, tmp_path: Path) -> None:
    """G86."""
    server.push("acme/agents/tools", a_repository("pdf", "csv"))
    server.push("acme/more", a_repository("word"))
    hostile = f"http://user@{server.host}/acme/tools"
    place = tmp_path / "list.txt"
    place.write_text(f"{server.url('acme/agents/tools')}\n{hostile}\n")
    listed = RepositoryList(Web(registry.app.github.session), Cadence(), str(place), registry.web_url, (server.host,))
    found = await crawl(registry, listed)
    assert (1, 2, 1) == (found.counters.new, found.counters.enqueued, found.counters.errors)
    answer = await registry.client.post(
        "/api/v1/admin/discovery/bulk",
        json={"repositories": [server.url("acme/more.git"), hostile]},
        headers={"X-Internal-Key": SECRET},
    )
    assert [("submitted", 1), (None, 0)] == [(each["state"], each["skills"]) for each in answer.json()["results"]]
    await registry.work()
    names = {each["name"] for each in (await registry.client.get("/api/v1/skills")).json()["skills"]}
    tools = f"{server.host}~acme~agents/tools"
    assert names == {f"{tools}/pdf", f"{tools}/csv", f"{server.host}~acme/more/word"}
