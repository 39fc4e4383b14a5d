"""Contents that a reader can ask for are never collected, also while the same bytes are published."""

import asyncio

import pytest
from sqlalchemy import text

from assay.model.source import Source
from tests.support.archives import a_zip
from tests.support.collecting import a_source, age, collect, is_stored, mark_and_age, objects_in
from tests.support.registry import Registry
from tests.support.review_cases import decide, look, refused_skill, waiting
from tests.support.skills import a_skill
from tests.support.web.metrics import series
from tests.support.web.owners import KEY, WHY, ask

pytestmark = pytest.mark.process

ROUNDS, UPLOADS = 4, 12
PDF = "/api/v1/skills/acme/docs/pdf"
DELETE_LISTINGS = text(
    """
    UPDATE skill SET standing = 'deleted', standing_code = 'test', standing_message = 'test', standing_by = 'test',
        standing_at = now() - interval '8 days'
    """
)
RESTORE_LISTINGS = text(
    "UPDATE skill SET standing = 'live', standing_code = NULL, standing_message = NULL, standing_by = NULL,"
    " standing_at = NULL"
)


async def publish_pdf(registry: Registry) -> list[str]:
    """Publish two versions, and return their digests."""
    repository = registry.github.add_repository("acme/docs", files={"SKILL.md": a_skill("pdf")})
    for body in ("Read it.", "Read all of it."):
        repository.push({"SKILL.md": a_skill("pdf", body=body)})
        await registry.submit("acme/docs", "pdf")
        await registry.work()
    versions = (await registry.client.get(f"{PDF}/versions")).json()["versions"]
    return [version["contentHash"] for version in versions]


async def collect_everything(registry: Registry) -> int:
    """Let days pass, in which collectors run; return the number of collected blobs."""
    collected = 0
    for _ in range(3):
        await mark_and_age(registry.app)
        collected += await collect(registry.app)
    return collected


async def upload(registry: Registry, name: str, source: Source) -> str:
    files = {"archive": ("skill.zip", a_zip({path: content.decode() for path, content in source.files.items()}))}
    answer = await registry.client.post(
        "/api/v1/submissions/upload", files=files, data={"skillName": name}, headers=KEY
    )
    assert answer.status_code in (200, 201), answer.text
    return answer.json()["id"]


async def test_contents_of_versions_and_submissions_are_kept(registry: Registry) -> None:
    """G111."""
    await publish_pdf(registry)
    in_review, refused = await waiting(registry), await refused_skill(registry)
    await ask(registry, "acme/docs/pdf", "versions/1.0.0/yank")
    uploaded = await upload(registry, "greet", a_source())
    stored = objects_in(registry.app)
    assert await collect_everything(registry) == 0
    assert objects_in(registry.app) == stored
    for number in (in_review, refused):
        assert (await look(registry, number))["files"]
    await decide(registry, in_review, "approve")
    await registry.work()
    assert (await registry.read(uploaded))["state"] == "PUBLISHED"


async def test_content_that_a_submission_no_longer_has_is_collected(registry: Registry) -> None:
    await refused_skill(registry)
    [stored] = objects_in(registry.app)
    repository, _ = registry.github.directory.find("mallory/kit")
    assert repository is not None
    repository.push({"SKILL.md": a_skill("steal"), "scripts/setup.sh": None})
    await registry.submit("mallory/kit", "steal")
    await registry.work()
    await mark_and_age(registry.app)
    assert await collect(registry.app) == 1
    metrics = (await registry.client.get("/metrics")).text
    assert series(metrics, "assay_chore_amount")['chore="collect blobs"'] == 1
    digest = f"sha256:{stored.replace('/', '')}"
    missing = await registry.client.get(f"/api/v1/internal/contents/{digest}", headers=KEY)
    assert (missing.status_code, missing.json()["code"]) == (404, "content_not_found")


@pytest.mark.parametrize(
    "use",
    [
        "INSERT INTO second_look (content_digest, why) SELECT content_digest, 'ruleset' FROM skill_version",
        "UPDATE deep_scan SET status = 'running', node_id = id, lease = id, lease_expires_at = now()",
    ],
    ids=["rescan", "deep scan"],
)
async def test_files_of_deleted_listings_are_kept_for_running_scans(registry: Registry, use: str) -> None:
    digests = await publish_pdf(registry)
    async with registry.app.store.begin() as db:
        await db.execute(DELETE_LISTINGS)
        await db.execute(text(use))
    assert await collect_everything(registry) == 0
    assert [await is_stored(registry.app, digest) for digest in digests] == [True, True]


async def test_listing_can_be_restored_until_its_files_are_deleted(registry: Registry) -> None:
    await upload(registry, "greet", a_source())
    await registry.work()
    name = "local/uploads/greet"
    for days in (6, 8):
        deleted = await registry.client.delete(f"/api/v1/skills/{name}", params=WHY, headers=KEY)
        assert deleted.status_code == 200, deleted.text
        async with registry.app.store.begin() as db:
            await db.execute(
                text("UPDATE skill SET standing_at = now() - make_interval(days => :days)"), {"days": days}
            )
        await collect_everything(registry)
        if days == 6:
            await ask(registry, name, "undelete")
            assert (await registry.client.get(f"/api/v1/skills/{name}/versions/latest/download")).status_code == 200
    for path in (f"/api/v1/skills/{name}/undelete", f"/api/v1/skills/{name}/reindex"):
        refused = await registry.client.post(path, json={"reason": "It was a mistake."}, headers=KEY)
        assert (refused.status_code, refused.json()["code"]) == (409, "files_deleted"), path
    await upload(registry, "greet", a_source())
    await ask(registry, name, "undelete")
    assert (await registry.client.get(f"/api/v1/skills/{name}/versions/latest/download")).status_code == 200


async def test_missing_files_are_not_found(registry: Registry) -> None:
    """Those of versions before the listing was deleted, if it is published again."""
    await publish_pdf(registry)
    async with registry.app.store.begin() as db:
        await db.execute(DELETE_LISTINGS)
    assert await collect_everything(registry) == 2
    async with registry.app.store.begin() as db:
        await db.execute(RESTORE_LISTINGS)
    assert (await registry.client.get(PDF)).status_code == 200
    assert (await registry.client.get("/skills/acme/docs/pdf")).status_code == 200
    for path in ("", "/files/SKILL.md", "/download"):
        answer = await registry.client.get(f"{PDF}/versions/latest{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "content_not_found"), path
    for path in ("compare", "diff"):
        answer = await registry.client.get(f"{PDF}/versions/{path}?from=1.0.0")
        assert (answer.status_code, answer.json()["code"]) == (404, "content_not_found"), path
    page = await registry.client.get("/skills/acme/docs/pdf/versions/1.0.0/files/SKILL.md")
    assert page.status_code == 404


async def test_published_content_is_never_missing(registry: Registry) -> None:
    """G111: the same bytes are published while collectors remove them."""
    for number in range(ROUNDS):
        sources = {f"greet-{number}-{each}": a_source(f"{number}-{each}") for each in range(UPLOADS)}
        for source in sources.values():
            await registry.app.blobs.save(source)
        await mark_and_age(registry.app)
        publishing = asyncio.gather(*(upload(registry, name, source) for name, source in sources.items()))
        collected = 0
        while not publishing.done():
            collected += await collect(registry.app)
        await publishing
        await registry.work()
        await collect(registry.app)
        for name in sources:
            answer = await registry.client.get(f"/api/v1/skills/local/uploads/{name}/versions/latest/download")
            assert answer.status_code == 200, f"{name} in round {number}, after {collected} were collected"


async def test_content_is_kept_while_it_is_published(registry: Registry) -> None:
    """A day has passed since an unused blob was marked, but it was saved after that."""
    source = a_source()
    await registry.app.blobs.save(source)
    await mark_and_age(registry.app, hours=23)
    number = await upload(registry, "greet", source)
    await age(registry.app, hours=2)
    assert await collect_everything(registry) == 0
    await registry.work()
    assert (await registry.read(number))["state"] == "PUBLISHED"
