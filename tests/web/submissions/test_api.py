"""Submissions over HTTP: submit, list and count."""

import asyncio
import io
import tarfile
from threading import Thread
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from assay.model.submission import STATE_GROUPS, State
from tests.support.registry import Registry
from tests.support.skills import a_bad_skill, a_repository, a_skill
from tests.support.web.owners import KEY
from tests.support.web.statements import listening
from tests.support.web.submissions import BACKDATED, refused

LIST = "/api/v1/submissions"
NOBODY = "00000000-0000-0000-0000-000000000000"


async def submit_many(registry: Registry, *names: str) -> list[str]:
    """Create a waiting submission for each name."""
    return [(await registry.submit("acme/many", name, f"skills/{name}/SKILL.md"))["id"] for name in names]


async def pages(registry: Registry, **given: Any) -> list[dict[str, Any]]:
    """Return every page of a list, by cursor."""
    found, cursor = [], None
    while True:
        query = {**given, **({"cursor": cursor} if cursor else {})}
        answer = await registry.client.get(LIST, params=query)
        assert answer.status_code == 200, answer.text
        found.append(answer.json())
        cursor = found[-1]["nextCursor"]
        if cursor is None:
            return found


BAD_PARAMETERS = [
    ("nope=1", "nope: unknown query parameter (known: category, cursor, dir, limit, "),
    ("repourl=x&author=y", "author, repourl: unknown query parameter"),
    ("repoUrl=x", "repoUrl must look like"),
    ("repoUrl=", "repoUrl must look like"),
    ("reason=", "reason: "),
    ("reason=a%00b", "reason: "),
    ("q=x", "q: "),
    ("q=", "q: "),
    (f"q={'x' * 101}", "q: "),
    ("q=%20%20a%20", "q: "),
    ("source=nope", "source: "),
    ("mine=perhaps", "mine: "),
    ("sort=nope", "sort: "),
    ("dir=up", "dir: "),
    ("sortDir=up", "sortDir: "),
    ("dir=asc&sortDir=asc", "dir, sortDir: "),
    ("offset=-1", "offset: "),
    ("offset=10001", "use the `nextCursor`"),
    ("offset=x", "offset: "),
    ("offset=1&cursor=zzz", "offset: cannot be combined"),
    ("sort=processingOrder&dir=desc", "dir: "),
    ("sort=processingOrder&state=FAILED", "sort: processingOrder requires"),
    ("sort=processingOrder&category=published", "sort: processingOrder requires"),
    ("in_state=FAILED", "in_state: unknown query parameter"),
    ("assay=1", "assay: unknown query parameter"),
    ("limit=0", "limit: "),
    ("limit=501", "limit: "),
    ("limit=-1", "limit: "),
    ("limit=99999999999999999999", "limit: "),
    ("limit=ten", "limit: "),
    ("limit=", "limit: "),
    ("limit=10&limit=20", "limit: give the parameter only once"),
    ("state=NOPE", "state: "),
    ("state=", "state: "),
    ("category=nope", "category: "),
    ("state=FAILED&category=failed", "state, category: "),
    ("cursor=", "cursor: "),
    ("cursor=zzz", "cursor: "),
    (f"cursor={BACKDATED}", "cursor: "),
    (f"cursor={'a' * 1001}", "cursor: "),
    ("cursor=%00%ff", "cursor: "),
]


async def test_invalid_parameter_is_rejected_by_name(registry: Registry) -> None:
    """G59: filters are applied or rejected, never ignored."""
    for query, named in BAD_PARAMETERS:
        refused(await registry.client.get(f"{LIST}?{query}"), 400, named)


async def test_unknown_parameters_are_rejected_on_all_routes(registry: Registry) -> None:
    """G59."""
    for path in (f"{LIST}/stats", f"{LIST}/{NOBODY}"):
        answer = await registry.client.get(path, params={"submission_id": "1"})
        assert (answer.status_code, answer.json()["code"]) == (400, "unknown_parameter")
        assert "submission_id: unknown query parameter (known: none)" in answer.json()["detail"]
    posted = await registry.client.post(LIST, params={"dryRun": "1"}, json={"repoUrl": f"{registry.web_url}/a/b"})
    assert (posted.status_code, posted.json()["code"]) == (400, "unknown_parameter")
    assert (await registry.client.get(f"{LIST}/stats")).json()["total"] == 0


BAD_BODIES: list[tuple[dict[str, Any], int, str]] = [
    ({"json": {}}, 400, "repoUrl"),
    ({"json": {"repoUrl": "https://x.example/a/b", "skillname": "b"}}, 400, "skillname"),
    ({"json": {"repoUrl": 5}}, 400, "repoUrl"),
    ({"json": {"repoUrl": "https://x.example/a/b"}}, 400, "repoUrl must look like"),
    ({"json": {"repoUrl": "x" * 501}}, 400, "repoUrl"),
    ({"json": {"repoUrl": "{web}/a/b", "skillName": "a\x00b"}}, 400, "skillName"),
    ({"json": {"repoUrl": "{web}/a/b", "skillName": "a\u202eb"}}, 400, "skillName"),
    ({"json": {"repoUrl": "{web}/a/b", "skillPath": "../SKILL.md"}}, 400, "../SKILL.md"),
    ({"json": {"repoUrl": "{web}/a/b", "skillPath": "a\x00/SKILL.md"}}, 400, "SKILL.md"),
    ({"json": []}, 400, "body"),
    ({"json": None}, 400, "body"),
    ({"content": b""}, 400, "body"),
    ({"content": b"{"}, 400, ""),
    ({"content": b'{"repoUrl": "\xff"}'}, 400, "body: it is not valid UTF-8"),
    ({"content": b'{"repoUrl": "\\ud800"}'}, 400, ""),
    ({"content": b" " * (2 * 1024 * 1024 + 1)}, 413, "2,097,152 bytes"),
    ({"content": b"{}", "headers": {"content-type": "text/plain"}}, 415, "application/json"),
    ({"content": b"{}", "headers": {}}, 415, "application/json"),
]
BAD_FORMS: list[tuple[dict[str, Any], int, str]] = [
    ({"files": {"archive": ("a.zip", b"hello")}}, 400, "zip or tar.gz"),
    ({"files": {"archive": ("a.zip", b"PK\x03\x04 broken")}}, 400, "cannot be read"),
    ({"files": {"other": ("a.zip", b"hello")}}, 400, "other"),
    ({"files": {"archive": ("a.zip", b"hello")}, "data": {"skillname": "x"}}, 400, "skillname"),
    ({"files": {"archive": ("a.zip", b"h" * (16 * 1024 * 1024))}}, 413, "16,777,216 bytes"),
    ({"json": {}}, 415, "multipart/form-data"),
]


async def test_invalid_body_is_rejected_with_its_reason(registry: Registry) -> None:
    """G59: unknown fields are named, and nothing is stored."""
    for body, status, named in BAD_BODIES:
        if isinstance(body.get("json"), dict):
            body = {"json": {key: str_with(value, registry.web_url) for key, value in body["json"].items()}}
        sent = {"headers": {"content-type": "application/json"}, **body}
        refused(await registry.client.post(LIST, **sent), status, named)
    for form, status, named in BAD_FORMS:
        refused(await registry.client.post(f"{LIST}/upload", headers=KEY, **form), status, named)
    assert (await registry.client.get(LIST)).json()["total"] == 0


def str_with(value: object, web_url: str) -> object:
    """Return a value in which `{web}` is replaced by the accepted host."""
    return value.replace("{web}", web_url) if isinstance(value, str) else value


async def test_submitting_twice_is_idempotent(registry: Registry) -> None:
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    body = {"repoUrl": f"{registry.web_url}/acme/tools", "skillName": "pdf", "skillPath": "skills/pdf/SKILL.md"}
    first = await registry.client.post(LIST, json=body)
    again = await registry.client.post(LIST, json={**body, "repoUrl": f"{registry.web_url}/Acme/TOOLS.git/"})
    assert (first.status_code, first.json()["duplicate"]) == (201, False)
    assert (again.status_code, again.json()["duplicate"]) == (200, True)
    assert first.json()["id"] == again.json()["id"]
    assert first.json()["statusUrl"].endswith(f"/submissions/{first.json()['id']}")
    assert (await registry.client.get(LIST)).json()["total"] == 1


async def test_uploading_twice_is_idempotent(registry: Registry) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        content = a_skill("greet").encode()
        entry = tarfile.TarInfo("greet/SKILL.md")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    files = {"archive": ("greet.tar.gz", buffer.getvalue())}
    first = await registry.client.post(f"{LIST}/upload", files=files, headers=KEY)
    again = await registry.client.post(f"{LIST}/upload", files=files, headers=KEY)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    listed = (await registry.client.get(LIST)).json()["submissions"][0]
    assert (listed["source"], listed["repoUrl"], listed["skillName"]) == ("upload", None, "greet")


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [(NOBODY, 404, "submission_not_found"), ("not-a-uuid", 400, "bad_request"), ("%00", 400, "bad_request")],
)
async def test_unknown_submission_returns_404(registry: Registry, path: str, status: int, code: str) -> None:
    """A malformed id is 400."""
    answer = await registry.client.get(f"{LIST}/{path}")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert ("submission_id" in answer.json()["detail"]) == (status == 400)


@pytest.mark.process
async def test_lists_totals_and_statistics_agree(registry: Registry) -> None:
    """G10, G12: for each state and category."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf", "csv"))
    registry.github.add_repository("mallory/kit", files=a_bad_skill())
    await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    await registry.submit("mallory/kit", "steal")
    await registry.work()
    await submit_many(registry, "one", "two", "three")
    stats = (await registry.client.get(f"{LIST}/stats")).json()
    assert (stats["total"], stats["published"], stats["rejected"], stats["active"]) == (5, 1, 1, 3)
    assert stats["total"] == sum(stats["byState"].values()) == sum(stats[category] for category in STATE_GROUPS)
    for state in State:
        listed = (await registry.client.get(LIST, params={"state": state})).json()
        assert listed["total"] == len(listed["submissions"]) == stats["byState"][state]
        assert {each["state"] for each in listed["submissions"]} <= {state}
    for category in STATE_GROUPS:
        listed = (await registry.client.get(LIST, params={"category": category})).json()
        assert listed["total"] == len(listed["submissions"]) == stats[category]
        assert {each["category"] for each in listed["submissions"]} <= {category}


async def test_list_and_total_share_a_snapshot(registry: Registry, database_url: str) -> None:
    """G10: a concurrent submission is in both or in neither."""
    await submit_many(registry, "one", "two")
    arrived: list[str] = []

    def arrive(statement: str) -> None:
        if "FROM submission" in statement and not arrived:
            arrived.append(statement)
            thread = Thread(target=lambda: asyncio.run(commit_one(database_url)))
            thread.start()
            thread.join()

    with listening(registry.app.store, "after_cursor_execute", arrive):
        answer = (await registry.client.get(LIST, params={"limit": 500})).json()
    assert arrived
    assert answer["total"] == len(answer["submissions"]) == 2
    assert (await registry.client.get(LIST)).json()["total"] == 3


async def commit_one(database_url: str) -> None:
    """Commit a submission from another connection."""
    connection = await asyncpg.connect(database_url)
    await connection.execute(
        "INSERT INTO submission (id, repository_id, skill_name, skill_path, state, origin) "
        "SELECT gen_random_uuid(), id, 'late', 'late/SKILL.md', 'RECEIVED', 'api' FROM repository"
    )
    await connection.close()


async def test_pages_are_stable_while_rows_arrive(registry: Registry, database_url: str) -> None:
    """G58: also if all rows share one timestamp."""
    there = await submit_many(registry, *(f"skill-{number}" for number in range(11)))
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE submission SET created_at = now()")
    await connection.close()
    seen: list[str] = []
    cursor, number = None, 0
    while number == 0 or cursor:
        query = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = (await registry.client.get(LIST, params=query)).json()
        seen += [each["id"] for each in page["submissions"]]
        cursor, number = page["nextCursor"], number + 1
        await submit_many(registry, f"late-{number}")
    assert sorted(seen) == sorted(there)
    assert seen == [str(each) for each in sorted(map(UUID, there), reverse=True)]


@pytest.mark.process
async def test_pages_respect_the_filter(registry: Registry) -> None:
    """G59: newest first on every page."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    await registry.work()
    waiting = await submit_many(registry, *(f"skill-{number}" for number in range(5)))
    found = await pages(registry, state="RECEIVED", limit=2)
    assert [len(page["submissions"]) for page in found] == [2, 2, 1]
    assert {page["total"] for page in found} == {5}
    assert [each["id"] for page in found for each in page["submissions"]] == waiting[::-1]


async def test_default_and_maximum_limit(registry: Registry) -> None:
    """50 and 500."""
    await submit_many(registry, *(f"skill-{number}" for number in range(51)))
    assert len((await registry.client.get(LIST)).json()["submissions"]) == 50
    assert len((await registry.client.get(LIST, params={"limit": 500})).json()["submissions"]) == 51
