"""Health, metrics, and what is answered while the database is away."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from assay.model.submission import State
from assay.settings import Settings
from assay.store.database.database import open_database
from assay.store.database.embedded import Server
from assay.store.database.migrate import migrate
from tests.support.fake_github import FakeGitHub
from tests.support.registry import Registry, open_registry
from tests.support.skills import a_bad_skill, a_repository

BROWSER = {"accept": "text/html"}
NOBODY = "00000000-0000-0000-0000-000000000000"
API = (
    f"/api/v1/submissions/{NOBODY}",
    "/api/v1/changes",
    "/.well-known/assay/keys.json",
    "/api/v1/queue/health",
    "/metrics",
)
PAGES = ("/", "/skills", "/skills?q=pdf", "/skills/acme/tools/pdf", "/queue", "/queue?category=published")
# What is answered from the edge copy: see tests/faults/test_degraded.py. These are not.
UNANSWERED = (f"/submissions/{NOBODY}",)


@pytest.fixture
async def own_server(data_folder: Path) -> AsyncIterator[Server]:
    """A PostgreSQL that the test may stop, migrated."""
    server = Server(data_folder / "postgres")
    server.start(("fsync=off",))
    async with open_database(server.url) as store:
        await migrate(store)
    yield server
    server.stop()


def series(metrics: str, name: str) -> dict[str, float]:
    """The values of a metric, by their labels."""
    lines = re.findall(rf"^{name}(?:\{{(.*)\}})? (\S+)$", metrics, re.MULTILINE)
    return {labels: float(value) for labels, value in lines}


async def test_without_its_database_the_registry_says_so_and_recovers_by_itself(
    own_server: Server, settings: Settings, github: FakeGitHub
) -> None:
    """G8, G9: 503 with Retry-After where only the database knows, never a zero or an empty list; no restart needed."""
    chosen = settings.model_copy(update={"database_url": SecretStr(own_server.url)})
    async with open_registry(chosen, github) as registry:
        github.add_repository("acme/tools", files=a_repository("pdf"))
        await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
        await registry.work()
        assert (await registry.client.get("/readyz")).json()["ready"]
        own_server.stop()
        await check_outage(registry.client)
        posted = await registry.client.post(
            "/api/v1/submissions", json={"repoUrl": f"{registry.web_url}/acme/other", "skillName": "other"}
        )
        assert_unavailable(posted)
        own_server.start(("fsync=off",))
        assert (await registry.client.get("/readyz")).json()["ready"]
        assert (await registry.client.get("/api/v1/submissions/stats")).json()["published"] == 1
        for path in PAGES:
            assert (await registry.client.get(path, headers=BROWSER)).status_code == 200, path


async def check_outage(client: httpx.AsyncClient) -> None:
    """Every answer that only the database can give is a 503; the process itself is fine."""
    for headers in ({}, {"Authorization": f"Bearer vsk_{'a' * 43}"}):
        healthy = await client.get("/healthz", headers=headers)
        assert (healthy.status_code, healthy.json()["status"]) == (200, "ok")
    ready = await client.get("/readyz")
    assert ready.status_code == 503
    checks = {check["name"]: check for check in ready.json()["checks"]}
    assert not ready.json()["ready"]
    assert not checks["database"]["ok"]
    assert "does not answer" in checks["database"]["detail"]
    assert checks["secrets"]["ok"]
    for path in API:
        assert_unavailable(await client.get(path))
    for path in UNANSWERED:
        page = await client.get(path, headers=BROWSER)
        assert (page.status_code, page.headers["content-type"]) == (503, "text/html; charset=utf-8"), path
        assert int(page.headers["retry-after"]) >= 1
        assert page.headers["cache-control"] == "no-store"
        assert "does not answer" in page.text
        assert not re.search(
            r"\b0\b", re.sub(r"<head>.*</head>|<footer>.*</footer>|href=\S*", "", page.text, flags=re.DOTALL)
        )


def assert_unavailable(answer: httpx.Response) -> None:
    """A 503 that says when to ask again, and that no cache keeps."""
    assert answer.status_code == 503, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "database_unavailable"
    assert int(answer.headers["retry-after"]) >= 1
    assert answer.headers["cache-control"] == "no-store"


async def test_a_schema_of_another_release_is_not_ready(registry: Registry) -> None:
    """Ready means that this release can work with this schema."""
    async with registry.app.store.begin() as db:
        await db.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    answer = await registry.client.get("/readyz")
    assert answer.status_code == 503
    checks = {check["name"]: check for check in answer.json()["checks"]}
    assert checks["database"]["ok"]
    assert not checks["migrations"]["ok"]
    assert "9999" in checks["migrations"]["detail"]


async def test_metrics_and_statistics_are_the_same_numbers(registry: Registry) -> None:
    """G12: one definition of every number, also for Prometheus; every state is there, also with none."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    registry.github.add_repository("mallory/kit", files=a_bad_skill())
    await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    await registry.submit("mallory/kit", "steal")
    await registry.work()
    await registry.submit("acme/tools", "waiting", "skills/waiting/SKILL.md")
    stats = (await registry.client.get("/api/v1/submissions/stats")).json()
    metrics = (await registry.client.get("/metrics")).text
    assert series(metrics, "assay_submissions") == {
        f'state="{state}"': number for state, number in stats["byState"].items()
    }
    assert {state.value for state in State} == set(stats["byState"])
    assert (stats["published"], stats["rejected"], stats["active"]) == (1, 1, 1)
    assert series(metrics, "assay_skills") == {"": 1.0} == {"": float(stats["skills"])}


async def test_requests_are_counted_by_route_and_not_by_path(registry: Registry) -> None:
    """However many paths are asked for, the number of series stays the same; what no route has is one series."""
    for number in range(3):
        await registry.client.get(f"/api/v1/skills/owner-{number}/repo/skill")
        await registry.client.get(f"/nothing/{number}")
        await registry.client.request(f"ODD{number}", "/")
    await registry.client.get("/api/v1/submissions", params={"nope": "1"})
    counted = series((await registry.client.get("/metrics")).text, "assay_http_requests_total")
    assert counted == {
        'method="GET",route="/api/v1/skills/{owner}/{repo}/{skill}",status="404"': 3,
        'method="GET",route="unknown",status="404"': 3,
        'method="other",route="unknown",status="405"': 3,
        'method="GET",route="/api/v1/submissions",status="400"': 1,
    }
