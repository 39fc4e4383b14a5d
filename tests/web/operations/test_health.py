"""Health, metrics, and responses while the database is down."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from assay.model.submission import State
from assay.settings import Settings
from assay.store.database.database import open_database
from assay.store.database.embedded import EmbeddedServer
from assay.store.database.migrate import migrate
from tests.support.fake_github import FakeGitHub
from tests.support.registry import Registry, open_registry
from tests.support.skills import a_bad_skill, a_repository
from tests.support.web.metrics import series

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
# These routes have no degraded response; tests/faults/test_degraded.py covers those that do.
UNANSWERED = (f"/submissions/{NOBODY}",)


@pytest.fixture
async def own_server(data_folder: Path) -> AsyncIterator[EmbeddedServer]:
    """Start a migrated PostgreSQL that the test may stop."""
    server = EmbeddedServer(data_folder / "postgres")
    server.start(("fsync=off",))
    async with open_database(server.url) as store:
        await migrate(store)
    yield server
    server.stop()


@pytest.mark.process
async def test_registry_reports_an_outage_and_recovers(
    own_server: EmbeddedServer, settings: Settings, github: FakeGitHub
) -> None:
    """G8, G9: 503 with Retry-After instead of zeros or empty lists; no restart needed."""
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
    """Check that every route that needs the database returns 503 while the process stays healthy."""
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
        assert "is unavailable" in page.text
        assert not re.search(
            r"\b0\b", re.sub(r"<head>.*</head>|<footer>.*</footer>|href=\S*", "", page.text, flags=re.DOTALL)
        )


def assert_unavailable(answer: httpx.Response) -> None:
    """Check for a 503 with Retry-After that is not cached."""
    assert answer.status_code == 503, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "database_unavailable"
    assert int(answer.headers["retry-after"]) >= 1
    assert answer.headers["cache-control"] == "no-store"


async def test_unknown_schema_version_is_not_ready(registry: Registry) -> None:
    async with registry.app.store.begin() as db:
        await db.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    answer = await registry.client.get("/readyz")
    assert answer.status_code == 503
    checks = {check["name"]: check for check in answer.json()["checks"]}
    assert checks["database"]["ok"]
    assert not checks["migrations"]["ok"]
    assert "9999" in checks["migrations"]["detail"]


@pytest.mark.process
async def test_metrics_and_statistics_agree(registry: Registry) -> None:
    """G12: every state has a series, also at zero."""
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


async def test_requests_are_counted_by_route(registry: Registry) -> None:
    """The number of series does not grow with the paths requested."""
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
