"""Upgrade of a database from before namespaces (0016): uploads of several people, tokens and sessions.

`dump_0016.sql.gz` was made by that release. Alice uploaded own-tool twice, and mixed-tool before Bob and an anonymous
caller did; public-tool is anonymous; adopted-tool was anonymous before Bob; odd_login cannot be a handle. Bob's upload
of own-tool, his waiting-tool and an anonymous upload wait in the queue.
"""

import gzip
import subprocess
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from pydantic import SecretStr

from assay.model.clock import Clock
from assay.settings import Settings
from assay.store.database.database import open_database
from assay.store.database.embedded import _binary
from assay.store.database.migrate import migrate
from tests.support.catalogue import agree, changes, read
from tests.support.fake_github import FakeGitHub
from tests.support.registry import Registry, open_registry
from tests.support.web.owners import WHY
from tests.support.web.people import bearer

DUMP = Path(__file__).parent / "dump_0016.sql.gz"
ALICE, BOB = bearer("vsk_" + "A" * 43), bearer("vsk_" + "B" * 43)
SOON_AFTER = datetime(2026, 11, 19, tzinfo=UTC)


@pytest.fixture
async def upgraded(postgres_url: str, settings: Settings, github: FakeGitHub) -> AsyncIterator[Registry]:
    """Load the dump, migrate it, and open a registry on it."""
    name = f"old_{uuid4().hex}"
    admin = await asyncpg.connect(postgres_url.replace("/assay?", "/postgres?"))
    await admin.execute(f"CREATE DATABASE {name}")
    url = postgres_url.replace("/assay?", f"/{name}?")
    load = [str(_binary("psql")), "--quiet", "--set=ON_ERROR_STOP=1", url]
    subprocess.run(load, input=gzip.decompress(DUMP.read_bytes()), check=True, stdout=subprocess.DEVNULL)
    async with open_database(url) as store:
        await migrate(store)
    moved = settings.model_copy(update={"database_url": SecretStr(url)})
    async with open_registry(moved, github, Clock(lambda: SOON_AFTER)) as registry:
        yield registry
    await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await admin.close()


async def rows(registry: Registry, statement: str) -> list[tuple[Any, ...]]:
    async with registry.app.store.begin() as db:
        return [tuple(row) for row in await db.exec_driver_sql(statement)]


async def test_every_listing_has_an_owner(upgraded: Registry) -> None:
    """All views agree after the upgrade, and nothing is lost."""
    await agree(
        upgraded,
        "acme/tools/greet",
        "alice/uploads/mixed-tool",
        "alice/uploads/own-tool",
        "bob/uploads/adopted-tool",
        "local/uploads/odd-tool",
        "local/uploads/public-tool",
    )
    owned = "SELECT count(*) FROM skill LEFT JOIN namespace ON namespace.name = split_part(skill.name, '/', 1) "
    assert await rows(upgraded, owned + "WHERE namespace.name IS NULL") == [(0,)]
    assert await rows(upgraded, "SELECT count(*) FROM skill_version") == [(10,)]
    handles = "SELECT login, handle FROM account ORDER BY lower(login)"
    assert await rows(upgraded, handles) == [
        ("Alice", "alice"), ("bob", "bob"), ("carol", "carol"), ("odd_login", None), ("warden", "warden"),
    ]  # fmt: skip


async def test_old_names_lead_to_the_new_ones(upgraded: Registry) -> None:
    """The hallmark names the old one, which is an alias."""
    page = await upgraded.client.get("/skills/local/uploads/own-tool")
    assert (page.status_code, page.headers["location"]) == (301, "/skills/alice/uploads/own-tool")
    listing = await read(upgraded, "local/uploads/own-tool")
    assert (listing["skill"]["name"], listing["skill"]["author"]) == ("alice/uploads/own-tool", "Alice")
    files = await upgraded.client.get("/api/v1/skills/alice/uploads/own-tool/versions/1.0.1/files")
    assert files.json()["aliases"] == ["local/uploads/own-tool"]
    renamed = {each["data"]["from"]: each["data"]["name"] for each in await changes(upgraded, "rename")}
    assert renamed == {
        "local/uploads/adopted-tool": "bob/uploads/adopted-tool",
        "local/uploads/mixed-tool": "alice/uploads/mixed-tool",
        "local/uploads/own-tool": "alice/uploads/own-tool",
    }


async def test_versions_of_others_are_yanked(upgraded: Registry) -> None:
    """The listing falls back to the last version of its owner, and the operator finds the others in the audit log."""
    listing = await read(upgraded, "alice/uploads/mixed-tool")
    assert (listing["skill"]["description"], listing["skill"]["currentVersion"]) == ("Mine.", "1.0.0")
    states = {each["version"]: each["status"] for each in listing["versions"]}
    assert states == {"1.0.2": "yanked", "1.0.1": "yanked", "1.0.0": "live"}
    adopted = await read(upgraded, "bob/uploads/adopted-tool")
    assert {each["status"] for each in adopted["versions"]} == {"live"}
    audited = "SELECT subject, detail ->> 'version' FROM audit_event WHERE actor = 'migration' ORDER BY 2"
    assert await rows(upgraded, audited) == [
        ("alice/uploads/mixed-tool", "1.0.1"), ("alice/uploads/mixed-tool", "1.0.2"),
    ]  # fmt: skip


async def test_waiting_uploads_keep_their_places(upgraded: Registry) -> None:
    """An upload of someone else to an owned listing is refused; the others wait in their own namespaces."""
    waiting = (
        "SELECT repository.owner, skill_name, state, reason_code FROM submission "
        "JOIN repository ON repository.id = repository_id WHERE state <> 'PUBLISHED' ORDER BY skill_name"
    )
    assert await rows(upgraded, waiting) == [
        ("local", "anonymous-waiting", "RECEIVED", None),
        ("alice", "own-tool", "REJECTED", "not_owner"),
        ("bob", "waiting-tool", "RECEIVED", None),
    ]
    assert await rows(upgraded, "SELECT count(*) FROM pgqueuer") == [(2,)]


async def test_tokens_and_authors_are_kept(upgraded: Registry) -> None:
    account = (await upgraded.client.get("/api/v1/account", headers=ALICE)).json()
    assert (account["login"], account["handle"]) == ("Alice", "alice")
    assert set(account["token"]["scopes"]) == {"read", "submit", "publish", "moderate", "admin"}
    url = "/api/v1/skills/alice/uploads/own-tool/versions/1.0.0/deprecate"
    assert (await upgraded.client.post(url, json=WHY, headers=BOB)).status_code == 403
    assert (await upgraded.client.post(url, json=WHY, headers=ALICE)).status_code == 200
    skill = (await read(upgraded, "acme/tools/greet"))["skill"]
    assert (skill["author"], skill["claimedAuthor"]) == ("acme", "Anthropic")
    assert await rows(upgraded, "SELECT count(*) FROM account_session WHERE revoked_at IS NULL") == [(1,)]
