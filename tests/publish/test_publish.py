"""Publishing: one transaction, immutable versions, one folder per name."""

import asyncio

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from assay.publish.publish import next_version
from tests.support.registry import Registry
from tests.support.skills import a_repository, a_skill

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("declared", "taken", "version"),
    [
        (None, [], "1.0.0"),
        ("2.3.4", [], "2.3.4"),
        ("v2.3.4", [], "2.3.4"),
        ("1.0", [], "1.0.0"),
        ("latest", ["1.0.0"], "1.0.1"),
        (None, ["1.0.9", "1.0.10"], "1.0.11"),
        ("1.0.0", ["1.0.0"], "1.0.1"),
        ("1.2.0", ["1.0.0"], "1.2.0"),
        (None, ["2.0.0-beta", "1.9.9"], "2.0.1"),
    ],
)
def test_version_numbers(declared: str | None, taken: list[str], version: str) -> None:
    """G51: the author's if it is new, otherwise the next."""
    assert next_version(declared, taken) == version


async def test_returning_content_is_its_old_version(registry: Registry) -> None:
    """G50."""
    repository = registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    await registry.submit("acme/tools", "greet")
    await registry.work()
    for description in ("Says goodbye.", "Says hello in the user's language."):
        repository.push({"SKILL.md": a_skill("greet", description=description)})
        await registry.submit("acme/tools", "greet")
        await registry.work()
    served = (await registry.client.get("/api/v1/skills/acme/tools/greet")).json()
    assert [each["version"] for each in served["versions"]] == ["1.0.1", "1.0.0"]
    assert served["skill"]["currentVersion"] == "1.0.0"
    assert served["skill"]["description"] == "Says hello in the user's language."


async def test_folder_has_one_listing(registry: Registry) -> None:
    """G55."""
    registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    await registry.submit("acme/tools", "greet")
    await registry.work()
    # The root of a repository may also have the name of the repository.
    second = await registry.submit("acme/tools", "tools")
    await registry.work()
    detail = await registry.read(second["id"])
    assert (detail["state"], detail["reason"]["code"]) == ("REJECTED", "already_listed")
    assert "acme/tools/greet" in detail["reason"]["message"]


async def test_name_has_one_folder(registry: Registry) -> None:
    """G55: also concurrently."""
    files = {f"{folder}/greet/SKILL.md": a_skill("greet", description=f"In {folder}.") for folder in ("a", "b")}
    registry.github.add_repository("acme/tools", files=files)
    ids = [(await registry.submit("acme/tools", "greet", path))["id"] for path in files]
    await registry.work()
    states = sorted([(await registry.read(each))["state"] for each in ids])
    assert states == ["PUBLISHED", "REJECTED"]
    assert (await registry.client.get("/api/v1/skills")).json()["total"] == 1


async def test_equal_content_is_scanned_once(registry: Registry) -> None:
    for owner in ("acme", "umbrella"):
        registry.github.add_repository(f"{owner}/tools", files=a_repository("pdf"))
        await registry.submit(f"{owner}/tools", "pdf", "skills/pdf/SKILL.md")
        await registry.work()
    async with registry.app.store.begin() as db:
        assert (await db.execute(text("SELECT count(*) FROM scan"))).scalar_one() == 1
    assert (await registry.client.get("/api/v1/skills")).json()["total"] == 2


async def test_parallel_publishes_all_arrive(registry: Registry) -> None:
    """G3: sixty at once."""
    names = [f"skill-{number}" for number in range(60)]
    registry.github.add_repository("acme/many", files=a_repository(*names))
    await asyncio.gather(*(registry.submit("acme/many", name, f"skills/{name}/SKILL.md") for name in names))
    await registry.work()
    page = (await registry.client.get("/api/v1/skills", params={"limit": 100})).json()
    assert sorted(skill["name"] for skill in page["skills"]) == sorted(f"acme/many/{name}" for name in names)
    assert {skill["currentVersion"] for skill in page["skills"]} == {"1.0.0"}


COPY = """
    INSERT INTO skill_version
        (id, skill_id, version, ordinal, content_digest, commit, scan_id, tier, score, hallmark)
    SELECT gen_random_uuid(), skill_id, '{version}', 9, content_digest, '{commit}', scan_id, tier, score, hallmark
    FROM skill_version
"""


@pytest.mark.parametrize(
    ("statement", "constraint"),
    [
        ("UPDATE skill_version SET content_digest = 'sha256:0'", "content_digest"),
        ("UPDATE skill_version SET content_digest = NULL", "content_digest"),
        ("UPDATE skill_version SET commit = repeat('0', 40)", "never changed"),
        ("UPDATE skill_version SET version = '9.9.9'", "never changed"),
        (COPY.format(version="9.9.9", commit=""), "skill_version_commit_check"),
        (COPY.format(version="", commit="0" * 40), "skill_version_version_check"),
        ("UPDATE skill_version SET hallmark = NULL", "hallmark"),
        ("UPDATE skill SET current_version_id = gen_random_uuid()", "skill_current_version_id_fkey"),
        ("UPDATE skill SET current_version_id = NULL", "current_version_id"),
        ("DELETE FROM skill_version", "skill_current_version_id_fkey"),
        (
            "INSERT INTO content (digest, files, file_count, size_bytes) VALUES ('x', '[]', 1, 1)",
            "content_digest_check",
        ),
    ],
)
async def test_database_rejects_incomplete_versions(registry: Registry, statement: str, constraint: str) -> None:
    """G50."""
    registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    await registry.submit("acme/tools", "greet")
    await registry.work()
    with pytest.raises(IntegrityError, match=constraint):
        async with registry.app.store.begin() as db:
            await db.execute(text(statement))


async def test_failed_publish_leaves_nothing(registry: Registry) -> None:
    """G3."""
    registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    accepted = await registry.submit("acme/tools", "greet")
    async with registry.app.store.begin() as db:
        await db.execute(text("ALTER TABLE change ADD CONSTRAINT broken CHECK (kind <> 'publish')"))
    await registry.work()
    detail = await registry.read(accepted["id"])
    assert (detail["state"], detail["reason"]["code"]) == ("FAILED", "internal_error")
    assert (await registry.client.get("/api/v1/skills")).json()["total"] == 0
    async with registry.app.store.begin() as db:
        await db.execute(text("ALTER TABLE change DROP CONSTRAINT broken"))
    await registry.submit("acme/tools", "greet")
    await registry.work()
    assert (await registry.read(accepted["id"]))["state"] == "PUBLISHED"
