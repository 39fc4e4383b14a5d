"""Discovery over HTTP: manual runs, repositories by name, source status; administrators only."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from assay.settings import Settings
from tests.support.discover.crawling import add_repositories, count, expected_submissions, list_submissions
from tests.support.registry import SECRET, Registry

KEY = {"X-Internal-Key": SECRET}


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    """Return settings with a list of repositories, written by the test, and GitHub's public events."""
    chosen = {"discovery_list": str(tmp_path / "list.txt"), "discovery_sources": ("list", "events")}
    return Settings.model_validate({**settings.model_dump(), **chosen})


@pytest.fixture(autouse=True)
def _in_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the delays between retries of a failing source."""
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


async def test_source_runs_on_request(registry: Registry, admin: httpx.AsyncClient) -> None:
    """G85: the response has the counters, which are stored; a dry run writes nothing."""
    names = add_repositories(registry, 3)
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
    assert expected_submissions(names) == await list_submissions(registry)
    trail = (await admin.get("/api/v1/admin/audit")).json()["events"]
    assert ["discovery_run", "discovery_run"] == [each["action"] for each in trail]


async def test_sources_run_concurrently_and_a_failing_one_stops_no_other(
    registry: Registry, admin: httpx.AsyncClient
) -> None:
    """G87: a failing source reports its own outcome and reason."""
    registry.github.add_event("somebody/skills")
    registry.github.add_repository("somebody/skills", files={"SKILL.md": "---\nname: x\ndescription: X.\n---\n"})
    done = await post(admin, "", {})
    outcomes = {each["source"]: (each["outcome"], each["enqueued"]) for each in done["runs"]}
    assert {"list": ("failed", 0), "events": ("complete", 1)} == outcomes
    problem = next(each["problem"] for each in done["runs"] if each["source"] == "list")
    assert "cannot be read" in problem
    dry = await post(admin, "", {"dryRun": True})
    assert {"list": "failed", "events": "complete"} == {each["source"]: each["outcome"] for each in dry["runs"]}


async def test_bulk_discovery_submits_repositories_by_name(registry: Registry, admin: httpx.AsyncClient) -> None:
    """G86: one result per repository, in order; known repositories are inspected again."""
    names = add_repositories(registry, 2)
    wanted = [names[0], f"{registry.web_url}/{names[1]}", "acme/none", "https://elsewhere.example/a/b"]
    done = await post(admin, "/bulk", {"repositories": wanted})
    shown = [(each["state"], each["skills"], each["enqueued"]) for each in done["results"]]
    assert [("submitted", 2, 2), ("submitted", 2, 2), ("missing", 0, 0), (None, 0, 0)] == shown
    assert (4, 2) == (done["enqueued"], done["errors"])
    again = await post(admin, "/bulk", {"repositories": names})
    assert [(2, 0), (2, 0)] == [(each["skills"], each["enqueued"]) for each in again["results"]]
    assert expected_submissions(names) == await list_submissions(registry)


async def test_stats_show_the_status_of_each_source(registry: Registry, admin: httpx.AsyncClient) -> None:
    """G85, G87: last run, counters, next run, lease and alarms."""
    write_list(registry, add_repositories(registry, 2))
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
async def test_invalid_discovery_request_is_rejected(
    admin: httpx.AsyncClient, body: dict[str, Any], status: int
) -> None:
    """G85: the maximum is 5,000 repositories."""
    await post(admin, "", body, status)


async def test_discovery_routes_require_the_internal_key(registry: Registry) -> None:
    """G77."""
    for answer in (
        await registry.client.post("/api/v1/admin/discovery", json={}),
        await registry.client.post("/api/v1/admin/discovery/bulk", json={"repositories": ["a/b"]}),
        await registry.client.get("/api/v1/admin/discovery/stats"),
    ):
        assert answer.status_code == 401


async def test_admin_page_lists_failed_sources(registry: Registry, admin: httpx.AsyncClient) -> None:
    """G90."""
    await post(admin, "", {"source": "list"})
    page = (await admin.get("/admin")).text
    assert "Discovery sources" in page
    assert "cannot be read" in page


async def test_concurrent_run_of_a_source_is_rejected(registry: Registry, admin: httpx.AsyncClient) -> None:
    """G87: a source has one lease, however it is started."""
    write_list(registry, [])
    await post(admin, "", {"source": "list"})
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE discovery_source SET lease_until = now() + interval '1 minute'"))
    assert "busy" == (await post(admin, "", {"source": "list"}))["runs"][0]["outcome"]
