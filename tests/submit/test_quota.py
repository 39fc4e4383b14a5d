"""Uploads count against a quota of bytes per namespace."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from sqlalchemy import text

from assay.store.submissions.upload_usage import read_upload_usage
from assay.submit.quota import reserve_upload
from assay.web.app import create_app
from tests.support.archives import a_zip
from tests.support.collecting import a_source, collect, folder_of, mark_and_age, objects_in, until_waiting
from tests.support.registry import Registry
from tests.support.skills import a_skill
from tests.support.web.owners import KEY
from tests.support.web.people import a_token, bearer, with_settings

SIZE = 20_000
DELETE = text(
    """
    UPDATE skill SET standing = 'deleted', standing_code = 'test', standing_message = 'test', standing_by = 'test',
        standing_at = now() - make_interval(days => :days)
    """
)


def an_archive(name: str, size: int = SIZE) -> bytes:
    """Return a skill whose files have exactly this size."""
    skill = a_skill(name)
    return a_zip({"SKILL.md": skill, "notes.md": "x" * (size - len(skill))})


async def upload(client: httpx.AsyncClient, name: str, archive: bytes | None = None) -> httpx.Response:
    files = {"archive": ("skill.zip", archive or an_archive(name))}
    return await client.post("/api/v1/submissions/upload", files=files, data={"skillName": name})


@asynccontextmanager
async def a_publisher(registry: Registry, quota_bytes: int, login: str = "alice") -> AsyncIterator[httpx.AsyncClient]:
    """Return the client of an account, on a registry with this quota."""
    served = create_app(with_settings(registry.app, upload_quota_bytes=quota_bytes))
    headers = bearer(await a_token(registry.app, login))
    transport = httpx.ASGITransport(served, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
        yield client


async def used_bytes(registry: Registry, namespace: str = "alice") -> int:
    async with registry.app.store.begin() as db:
        return (await read_upload_usage(db, namespace)).used_bytes


async def test_upload_beyond_the_quota_is_refused_and_not_stored(registry: Registry) -> None:
    """G112."""
    async with a_publisher(registry, 3 * SIZE) as alice, a_publisher(registry, 3 * SIZE, "bob") as bob:
        for name in ("one", "two", "three"):
            assert (await upload(alice, name)).status_code == 201
        stored = objects_in(registry.app)
        refused = await upload(alice, "four")
        assert (refused.status_code, refused.json()["code"]) == (413, "quota_exceeded")
        assert "The uploads of alice use 0.1 MiB of 0.1 MiB" in refused.json()["detail"]
        assert objects_in(registry.app) == stored
        assert (await upload(bob, "four")).status_code == 201
        assert (await upload(alice, "four", an_archive("four", 400))).status_code == 413
    assert await used_bytes(registry) == 3 * SIZE


async def test_small_archive_cannot_fill_the_disk(registry: Registry) -> None:
    """Eight megabytes of zeros compress to a thousandth."""
    archive = a_zip({"SKILL.md": a_skill("zeros")} | {f"zeros-{number}": bytes(1_000_000) for number in range(8)})
    async with a_publisher(registry, 0) as alice:
        assert (await upload(alice, "zeros", archive)).status_code == 201
    stored = sum((folder_of(registry.app) / name).stat().st_size for name in objects_in(registry.app))
    assert stored < 10 * len(archive)


async def test_owner_sees_how_much_is_used(registry: Registry) -> None:
    async with a_publisher(registry, 3 * SIZE) as alice:
        assert (await upload(alice, "one")).status_code == 201
        limits = (await alice.get("/api/v1/account/limits")).json()
        del alice.headers["authorization"]
        anonymous = (await alice.get("/api/v1/account/limits")).json()
    assert limits["storage"] == [{"namespace": "alice", "usedBytes": SIZE, "limitBytes": 3 * SIZE}]
    assert anonymous["storage"] == []


async def test_same_files_count_once(registry: Registry) -> None:
    async with a_publisher(registry, SIZE) as alice:
        assert (await upload(alice, "one")).status_code == 201
        assert (await upload(alice, "one")).status_code == 200
        assert (await upload(alice, "other", an_archive("one"))).status_code == 201
    assert await used_bytes(registry) == SIZE


async def test_concurrent_uploads_cannot_exceed_the_quota(registry: Registry) -> None:
    """G112."""
    async with a_publisher(registry, 4 * SIZE) as alice:
        answers = await asyncio.gather(*(upload(alice, f"skill-{number}") for number in range(12)))
    assert sorted(answer.status_code for answer in answers) == [201] * 4 + [413] * 8
    assert await used_bytes(registry) == 4 * SIZE
    assert len(objects_in(registry.app)) == 4


async def test_upload_waits_for_another_that_is_being_counted(registry: Registry) -> None:
    async with a_publisher(registry, SIZE) as alice:
        async with registry.app.store.begin() as db:
            await reserve_upload(db, "alice", a_source(), SIZE)
            second = asyncio.create_task(upload(alice, "second"))
            await until_waiting(registry.app)
        assert (await second).status_code == 413


async def test_operator_has_no_quota(registry: Registry) -> None:
    async with a_publisher(registry, SIZE) as client:
        client.headers.update(KEY)
        del client.headers["authorization"]
        for name in ("one", "two"):
            assert (await upload(client, name)).status_code == 201


async def test_quota_can_be_turned_off(registry: Registry) -> None:
    async with a_publisher(registry, 0) as alice:
        for name in ("one", "two"):
            assert (await upload(alice, name)).status_code == 201


async def test_refused_upload_counts_until_its_files_are_deleted(registry: Registry) -> None:
    """G112: otherwise an author could fill the disk with uploads that are refused."""
    async with a_publisher(registry, 2 * SIZE) as alice:
        assert (await upload(alice, "one")).status_code == 201
        under_way = await upload(alice, "one", an_archive("other"))
        assert under_way.json()["code"] == "upload_under_way"
        assert await used_bytes(registry) == 2 * SIZE
        assert (await upload(alice, "two")).status_code == 413
        await mark_and_age(registry.app)
        assert await collect(registry.app) == 1
        assert await used_bytes(registry) == SIZE
        assert (await upload(alice, "two")).status_code == 201


@pytest.mark.process
async def test_all_versions_count_until_their_listing_has_been_deleted_for_a_week(registry: Registry) -> None:
    async with a_publisher(registry, 10 * SIZE) as alice:
        for size in (SIZE + 1, SIZE + 2):
            assert (await upload(alice, "one", an_archive("one", size))).status_code in (200, 201)
            await registry.work()
    assert await used_bytes(registry) == 2 * SIZE + 3
    for days, left in ((6, 2 * SIZE + 3), (8, 0)):
        async with registry.app.store.begin() as db:
            await db.execute(DELETE, {"days": days})
        await mark_and_age(registry.app)
        await collect(registry.app)
        assert await used_bytes(registry) == left
