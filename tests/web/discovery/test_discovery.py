"""Discovery over HTTP: runs by hand, repositories by name, how the sources stand; for administrators only."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from assay.settings import Settings
from tests.support.discover.crawling import count, expected, many, submitted
from tests.support.registry import SECRET, Registry

KEY = {"X-Internal-Key": SECRET}


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    """With a list of repositories, which a test writes, and GitHub's events."""
    chosen = {"discovery_list": str(tmp_path / "list.txt"), "discovery_sources": ("list", "events")}
    return Settings.model_validate({**settings.model_dump(), **chosen})


@pytest.fixture(autouse=True)
def _in_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test need not wait for the pauses of a source that fails."""
    monkeypatch.setattr("assay.discover.crawl.FIRST_PAUSE_SECONDS", 0.01)


@pytest.fixture
async def admin(registry: Registry) -> AsyncIterator[httpx.AsyncClient]:
    registry.client.headers.update(KEY)
    yield registry.client


def write_list(registry: Registry, names: list[str]) -> None:
    place = registry.app.settings.discovery_list
    assert place is not None
    Path(place).write_text("\n".join(names))


async def post(client: httpx.AsyncClient, path: str, body: dict[str, Any], status: int = 200) -> dict[str, Any]:
    answer = await client.post(f"/api/v1/admin/discovery{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


async def test_a_source_is_run_by_hand(registry: Registry, admin: httpx.AsyncClient) -> None:
    """G85: the counters are answered and kept; a dry run before it writes nothing."""
    names = many(registry, 3)
    write_list(registry, [*names, "nonsense"])
    dry = await post(admin, "", {"source": "list", "dryRun": True})
    assert (names, 0) == (dry["runs"][0]["newRepositories"], await count(registry, "submission"))
    done = await post(admin, "", {"source": "list", "maxResults": 2})
    assert ("capped", 2, 4, 1) == tuple(done["runs"][0][name] for name in ("outcome", "new", "enqueued", "errors"))
    rest = await post(admin, "", {"source": "list"})
    assert ("complete", 1, 2, 2) == tuple(
        rest["runs"][0][name] for name in ("outcome", "new", "enqueued", "skippedDedup")
    )
    assert {names[2]: 2} == rest["runs"][0]["repoStats"]
    assert expected(names) == await submitted(registry)
    trail = (await admin.get("/api/v1/admin/audit")).json()["events"]
    assert ["discovery_run", "discovery_run"] == [each["action"] for each in trail]


async def test_all_sources_run_side_by_side_and_one_that_fails_stops_none(
    registry: Registry, admin: httpx.AsyncClient
) -> None:
    """G87: what is wrong with a source is an outcome of its own, with its reason."""
    registry.github.happen("somebody/skills")
    registry.github.add_repository("somebody/skills", files={"SKILL.md": "---\nname: x\ndescription: X.\n---\n"})
    done = await post(admin, "", {})
    outcomes = {each["source"]: (each["outcome"], each["enqueued"]) for each in done["runs"]}
    assert {"list": ("failed", 0), "events": ("complete", 1)} == outcomes
    problem = next(each["problem"] for each in done["runs"] if each["source"] == "list")
    assert "cannot be read" in problem
    dry = await post(admin, "", {"dryRun": True})
    assert {"list": "failed", "events": "complete"} == {each["source"]: each["outcome"] for each in dry["runs"]}


async def test_repositories_are_taken_in_by_name(registry: Registry, admin: httpx.AsyncClient) -> None:
    """G86: one result for each, in their order; a known one is looked into again."""
    names = many(registry, 2)
    wanted = [names[0], f"{registry.web_url}/{names[1]}", "acme/none", "https://elsewhere.example/a/b"]
    done = await post(admin, "/bulk", {"repositories": wanted})
    shown = [(each["state"], each["skills"], each["enqueued"]) for each in done["results"]]
    assert [("submitted", 2, 2), ("submitted", 2, 2), ("missing", 0, 0), (None, 0, 0)] == shown
    assert (4, 2) == (done["enqueued"], done["errors"])
    again = await post(admin, "/bulk", {"repositories": names})
    assert [(2, 0), (2, 0)] == [(each["skills"], each["enqueued"]) for each in again["results"]]
    assert expected(names) == await submitted(registry)


async def test_the_stats_say_how_each_source_stands(registry: Registry, admin: httpx.AsyncClient) -> None:
    """G85, G87: last run, counters, next run, lease and alarms of each."""
    write_list(registry, many(registry, 2))
    await post(admin, "", {"source": "list"})
    answer = (await admin.get("/api/v1/admin/discovery/stats")).json()
    [listed] = answer["sources"]
    assert ("list", 1, 2, None) == tuple(listed["source"][name] for name in ("name", "runs", "found", "runningUntil"))
    assert ("complete", 4) == (listed["lastRun"]["outcome"], listed["lastRun"]["enqueued"])
    assert listed["source"]["nextRunAt"] > answer["generatedAt"]
    assert [] == listed["alarms"]


@pytest.mark.parametrize(
    ("body", "status"),
    [({"source": "nobody"}, 404), ({"maxResults": 5001}, 400), ({"maxResults": 0}, 400), ({"what": 1}, 400)],
)
async def test_what_is_wrong_is_refused(admin: httpx.AsyncClient, body: dict[str, Any], status: int) -> None:
    """G85: five thousand at the most."""
    await post(admin, "", body, status)


async def test_only_administrators_may(registry: Registry) -> None:
    """G77: without the key there is nothing to see and nothing to start."""
    for answer in (
        await registry.client.post("/api/v1/admin/discovery", json={}),
        await registry.client.post("/api/v1/admin/discovery/bulk", json={"repositories": ["a/b"]}),
        await registry.client.get("/api/v1/admin/discovery/stats"),
    ):
        assert answer.status_code == 401


async def test_the_admin_page_shows_the_sources(registry: Registry, admin: httpx.AsyncClient) -> None:
    """G90: a source that failed is seen where people look."""
    await post(admin, "", {"source": "list"})
    page = (await admin.get("/admin")).text
    assert "Sources of discovery" in page
    assert "cannot be read" in page


async def test_a_second_runner_is_told_so(registry: Registry, admin: httpx.AsyncClient) -> None:
    """G87: the lease of a source is one, whoever asks."""
    write_list(registry, [])
    await post(admin, "", {"source": "list"})
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE discovery_source SET lease_until = now() + interval '1 minute'"))
    assert "busy" == (await post(admin, "", {"source": "list"}))["runs"][0]["outcome"]
