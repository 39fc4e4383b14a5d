"""PostgreSQL stops: reads are served from the edge copy and marked."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from time import monotonic

import httpx
import pytest
from pydantic import SecretStr

from assay.edge.keys import INDEX
from assay.edge.kv import Edge
from assay.settings import Settings
from assay.store.database.database import open_database
from assay.store.database.embedded import EmbeddedServer
from assay.store.database.migrate import migrate
from tests.support.edge_copies import bring_level
from tests.support.edge_stores import contents_of, edge_url, keys_of, redis_server
from tests.support.fake_github import FakeGitHub
from tests.support.processes import until
from tests.support.registry import SECRET, Registry, open_registry
from tests.support.scratch import scratch
from tests.support.skills import a_repository, a_skill

pytestmark = pytest.mark.process

__all__ = ["edge_url", "redis_server"]
BROWSER = {"accept": "text/html"}
NAMES = ("pdf", "csv", "greet")
LIST, SEARCH, DETAIL = "/api/v1/skills", "/api/v1/skills/search?q=pdf", "/api/v1/skills/acme/tools/pdf"
PAGES = ("/", "/skills", "/skills?q=pdf", "/skills/acme/tools/pdf")
FLAT_PAGE = "/skills/pdf"
ARCHIVE = f"{DETAIL}/versions/{{}}/download?format={{}}"
FILES = (ARCHIVE.format("latest", "tar.gz"), ARCHIVE.format("1.0.0", "zip"), "/badge/acme/tools/pdf.svg")


@pytest.fixture(scope="module")
def own_server() -> Iterator[EmbeddedServer]:
    """Start a migrated PostgreSQL that these tests may stop, outside pytest's folders, which its system user cannot
    read.
    """
    folder = scratch("assay-degraded-")
    server = EmbeddedServer(folder / "postgres")
    server.start(("fsync=off",))
    asyncio.run(_migrate(server.url))
    yield server
    server.stop()
    shutil.rmtree(folder)


async def _migrate(url: str) -> None:
    async with open_database(url) as store:
        await migrate(store)


@pytest.fixture
async def copied(
    own_server: EmbeddedServer, settings: Settings, github: FakeGitHub, edge_url: str
) -> AsyncIterator[Registry]:
    """Return a registry with three listings, one active submission and an empty edge copy."""
    own_server.start(("fsync=off",))
    update = {"database_url": SecretStr(own_server.url), "edge_url": SecretStr(edge_url)}
    async with open_registry(settings.model_copy(update=update), github) as registry:
        await registry.app.edge.clear()
        github.add_repository("acme/tools", files=a_repository(*NAMES))
        github.add_repository("acme/later", files={"SKILL.md": a_skill("later")})
        for name in NAMES:
            await registry.submit("acme/tools", name, f"skills/{name}/SKILL.md")
        await registry.work()
        await registry.submit("acme/later", "later")
        yield registry
        own_server.start(("fsync=off",))
        async with registry.app.store.engine.begin() as db:
            await db.exec_driver_sql(
                "TRUNCATE submission, skill, skill_version, change, repository, content, scan, pgqueuer, skill_count,"
                " submission_count, submission_count_delta CASCADE"
            )


async def told(value: bool) -> bool:
    """Return the value for a polling condition."""
    return value


def names_in(answer: httpx.Response, key: str = "skills") -> list[str]:
    """Return the names of the listings in a response."""
    return [skill["name"] for skill in answer.json()[key]]


def check_marked(answer: httpx.Response, source: str) -> None:
    """Check the degraded marks in headers and JSON, and that the response is not cached."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-assay-degraded"] == source
    assert answer.headers["cache-control"] == "no-store"
    if answer.headers["content-type"].startswith("application/json"):
        body = answer.json()
        assert (body["degraded"], body["source"]) == (True, source)
        assert (body["asOf"] is None) == (source == "starter")


async def test_reads_are_degraded_during_an_outage(copied: Registry, own_server: EmbeddedServer) -> None:
    """G8, G9, G65: marked, from the edge copy; writes are rejected; recovery is automatic."""
    await bring_level(copied, copied.app.edge)
    get = copied.client.get
    healthy = {path: (await get(path)).json() for path in (LIST, SEARCH, DETAIL)}
    page = (await get(f"{LIST}?limit=2")).json()
    files = {path: (await get(path)).content for path in FILES}
    own_server.stop()
    await check_files(copied, files)
    for path, key in ((LIST, "skills"), (SEARCH, "results")):
        answer = await get(path)
        check_marked(answer, "enumeration")
        assert answer.json()[key] == healthy[path][key]
        assert answer.headers["x-search-source"] == "enumeration"
    assert (await get(LIST)).json()["total"] == 3
    for part in ("cme/tool", "github.com/acme/tools"):
        found = await get("/api/v1/skills/search", params={"q": part})
        assert "acme/tools/pdf" in {each["name"] for each in found.json()["results"]}, part
    detail = await get(DETAIL)
    check_marked(detail, "enumeration")
    known = {key: detail.json()[key] for key in healthy[DETAIL]}
    # Changes per version are computed from files that the edge copy does not have.
    for version, copied_version in zip(healthy[DETAIL]["versions"], known["versions"], strict=True):
        assert copied_version == version | {"diffSummary": ""}
    assert known | {"versions": []} == healthy[DETAIL] | {"versions": [], "deepScans": None, "sourceSeenAt": None}
    for path in ("/api/v1/blocklist", "/api/v1/blocklist/check?name=pdf"):
        check_marked(await get(path), "enumeration")
    onward = await get(f"{LIST}?limit=2&cursor={page['nextCursor']}")
    assert names_in(onward) == names_in(await get(LIST))[2:], "a cursor from before leads on"
    for path in (*PAGES, FLAT_PAGE):
        shown = await get(path, headers=BROWSER)
        check_marked(shown, "enumeration")
        assert "The database is unavailable" in shown.text
        assert "acme/tools/pdf" in shown.text
    under_way = await get("/api/v1/submissions")
    check_marked(under_way, "enumeration")
    assert [each["skillName"] for each in under_way.json()["submissions"]] == ["later"]
    assert under_way.json()["totalIsExact"] is False
    assert (await get("/api/v1/submissions?state=TIER1_SCANNING")).json()["submissions"] == []
    submission = under_way.json()["submissions"][0]["id"]
    check_marked(await get(f"/api/v1/submissions/{submission}"), "enumeration")
    watched = await get(f"/submissions/{submission}", headers=BROWSER)
    check_marked(watched, "enumeration")
    assert "continues when the database is available again" in watched.text
    await check_what_can_be_counted(copied)
    queue = await get("/queue", headers=BROWSER)
    check_marked(queue, "enumeration")
    assert "acme/later" in queue.text
    await check_refusals(copied)
    own_server.start(("fsync=off",))
    assert (await get("/readyz")).status_code == 200
    for path, body in healthy.items():
        answer = await get(path)
        assert "x-assay-degraded" not in answer.headers
        assert answer.json() == body


async def check_what_can_be_counted(registry: Registry) -> None:
    """G8: Check that unknown counts are null rather than zero, and that short names work."""
    stats = await registry.client.get("/api/v1/submissions/stats")
    check_marked(stats, "enumeration")
    assert [stats.json()[key] for key in ("active", "skills", "total", "published")] == [1, 3, None, None]
    numbers = await registry.client.get("/api/v1/stats")
    check_marked(numbers, "enumeration")
    assert [numbers.json()[key] for key in ("skills", "repositories", "versions", "installs")] == [3, 1, None, None]
    for path in ("/api/v1/skills/pdf", "/api/v1/skills/-/-/pdf"):
        flat = await registry.client.get(path)
        check_marked(flat, "enumeration")
        assert flat.json()["skill"]["name"] == "acme/tools/pdf"
    versions = await registry.client.get(f"{DETAIL}/versions")
    check_marked(versions, "enumeration")
    assert [each["version"] for each in versions.json()["versions"]] == ["1.0.0"]


async def check_files(registry: Registry, healthy: dict[str, bytes]) -> None:
    """Check that files offered on a skill page can be downloaded; tags are unknown."""
    for path, content in healthy.items():
        answer = await registry.client.get(path)
        check_marked(answer, "enumeration")
        assert answer.content == content
        again = await registry.client.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.headers["x-assay-degraded"]) == (304, "enumeration")
    assert (await registry.client.get(ARCHIVE.format("stable", "zip"))).status_code == 503
    assert (await registry.client.get("/badge/acme/tools/nothing.svg")).status_code == 404


async def check_refusals(registry: Registry) -> None:
    """Check that unknown data is a 503 with Retry-After and a missing key a marked 404."""
    url = f"{registry.web_url}/acme/tools"
    refused = [
        await registry.client.post("/api/v1/submissions", json={"repoUrl": url, "skillName": "other"}),
        await registry.client.post("/api/v1/admin/rebuild-index", headers={"X-Internal-Key": SECRET}),
        await registry.client.get("/submissions/00000000-0000-0000-0000-000000000000"),
        await registry.client.get("/api/v1/changes"),
        await registry.client.get("/api/v1/queue/health"),
        await registry.client.get("/api/v1/submissions/00000000-0000-0000-0000-000000000000"),
        await registry.client.get("/metrics"),
    ]
    for answer in refused:
        assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable")
        assert int(answer.headers["retry-after"]) >= 1
        assert answer.headers["cache-control"] == "no-store"
    missing = await registry.client.get("/api/v1/skills/acme/tools/nothing")
    assert (missing.status_code, missing.headers["cache-control"]) == (404, "no-store")
    assert "x-assay-degraded" in missing.headers
    wrong = await registry.client.get("/api/v1/skills?limit=0")
    assert wrong.status_code == 400


async def test_degraded_sources_are_used_in_order(copied: Registry, own_server: EmbeddedServer) -> None:
    """G9, G66: enumeration, index, starter catalogue."""
    edge, get = copied.app.edge, copied.client.get
    await bring_level(copied, edge)
    own_server.stop()
    check_marked(await get(LIST), "enumeration")
    await strike(edge, [*await keys_of(edge, "skill:"), *await keys_of(edge, "detail:")])
    for path, key in ((LIST, "skills"), (SEARCH, "results")):
        answer = await get(path)
        check_marked(answer, "index")
        assert "acme/tools/pdf" in names_in(answer, key)
    check_marked(await get(DETAIL), "index")
    check_marked(await get("/skills/acme/tools/pdf", headers=BROWSER), "index")
    assert copied.app.copy.tally.differences >= 1
    await edge.clear()
    copied.app.copy.forget()
    starter = await get(f"{LIST}?limit=100")
    check_marked(starter, "starter")
    assert (starter.json()["total"], len(starter.json()["skills"])) == (0, 100)
    assert all(each["unverified"] and each["certTier"] is None for each in starter.json()["skills"])
    found = await get(SEARCH)
    check_marked(found, "starter")
    assert "anthropics/skills/pdf" in names_in(found, "results")
    check_marked(await get("/api/v1/skills/anthropics/skills/pdf"), "starter")
    for path in ("/", "/skills", "/skills?q=pdf", "/skills/anthropics/skills/pdf"):
        page = await get(path, headers=BROWSER)
        check_marked(page, "starter")
        assert "have not been scanned" in page.text


async def strike(edge: Edge, keys: list[str]) -> None:
    """Delete keys like an eviction."""
    serial = await edge.read_serial()
    assert await edge.write({}, keys, since=serial, serial=serial + 1)


async def test_incomplete_index_is_repaired(copied: Registry, own_server: EmbeddedServer) -> None:
    """G66: the larger set is served; the index is rebuilt in the background."""
    edge = copied.app.edge
    await bring_level(copied, edge)
    await strike(edge, [INDEX])
    own_server.stop()
    check_marked(await copied.client.get(LIST), "enumeration")
    await until(lambda: told(copied.app.copy.tally.repairs == 1))
    assert await edge.get([INDEX]) != [None]


async def test_known_outage_is_not_probed_by_requests(copied: Registry, own_server: EmbeddedServer) -> None:
    """G67: a hundred reads are answered without querying the database."""
    await bring_level(copied, copied.app.edge)
    own_server.stop()
    breaker = copied.app.store.breaker
    await copied.client.get(LIST)
    await until(lambda: told(breaker.is_open))
    checked_out = copied.app.store.engine.pool.checkedout()  # type: ignore[attr-defined]
    started = monotonic()
    answers = await asyncio.gather(*(copied.client.get(DETAIL) for _ in range(100)))
    assert monotonic() - started < 20
    for answer in answers:
        check_marked(answer, "enumeration")
    assert copied.app.store.engine.pool.checkedout() == checked_out == 0  # type: ignore[attr-defined]
    own_server.start(("fsync=off",))
    await until(lambda: told(not breaker.is_open))
    assert "x-assay-degraded" not in (await copied.client.get(LIST)).headers


async def test_healthy_responses_do_not_use_the_edge_copy(copied: Registry) -> None:
    """G6."""
    await bring_level(copied, copied.app.edge)
    paths = (LIST, SEARCH, DETAIL, "/api/v1/submissions/stats", "/api/v1/changes")
    before = {path: (await copied.client.get(path)).json() for path in paths}
    pages = {path: (await copied.client.get(path, headers=BROWSER)).text for path in (*PAGES, "/queue")}
    assert await contents_of(copied.app.edge)
    await copied.app.edge.clear()
    for path, body in before.items():
        after = (await copied.client.get(path)).json()
        assert {**after, "generatedAt": None} == {**body, "generatedAt": None}
    for path, text in pages.items():
        assert (await copied.client.get(path, headers=BROWSER)).text == text


async def test_recovery_during_degraded_reads(copied: Registry) -> None:
    """G67: cached edge data is dropped, and running responses are unaffected."""
    await bring_level(copied, copied.app.edge)
    copy, edge = copied.app.copy, copied.app.edge
    first, read_serial = await copy.snapshot(), edge.read_serial

    async def interrupted() -> int:
        copy.forget()
        return await read_serial()

    edge.read_serial = interrupted  # type: ignore[method-assign]
    assert (await copy.snapshot()).cards == first.cards


async def test_empty_registry_shows_the_starter_catalogue(registry: Registry) -> None:
    """G14: marked, and not counted."""
    page = (await registry.client.get("/skills", headers=BROWSER)).text
    assert page.count("unverified") == 118
    listed = (await registry.client.get(LIST)).json()
    assert (listed["skills"], listed["total"], listed["nextCursor"]) == ([], 0, None)
    assert (await registry.client.get(SEARCH)).json()["results"] == []
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    await registry.work()
    assert "unverified" not in (await registry.client.get("/skills", headers=BROWSER)).text
