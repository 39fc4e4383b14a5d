"""Flat names: an upload never changes where the name of an older listing leads."""

from typing import Any

import pytest

from assay.store.skills.names import rename_listing
from assay.store.skills.skills import get_skill
from tests.support.archives import a_zip
from tests.support.catalogue import publish
from tests.support.registry import Registry
from tests.support.skills import a_skill
from tests.support.web.owners import ask
from tests.support.web.people import PAGE, a_token, bearer

pytestmark = pytest.mark.process

SKILLS = "/api/v1/skills"


async def upload(registry: Registry, name: str, owner: str) -> str:
    """Publish an upload of this account and return its name."""
    archive = a_zip({"SKILL.md": a_skill(name, f"Uploaded by {owner}.")})
    headers = bearer(await a_token(registry.app, owner))
    files = {"archive": ("skill.zip", archive)}
    answer = await registry.client.post("/api/v1/submissions/upload", files=files, headers=headers)
    assert answer.status_code == 201, answer.text
    await registry.work()
    return f"{owner}/uploads/{name}"


async def rename(registry: Registry, old: str, new: str) -> None:
    async with registry.app.store.begin() as db:
        assert await rename_listing(db, await get_skill(db, old), new)


async def choices(registry: Registry, flat: str) -> list[str]:
    """Return the listings that a flat name leads to."""
    answer = await registry.client.get(f"{SKILLS}/{flat}")
    if answer.status_code == 404:
        return []
    body: dict[str, Any] = answer.json()
    return body["choices"] if answer.status_code == 300 else [body["skill"]["name"]]


async def test_upload_does_not_make_the_name_of_a_repository_ambiguous(registry: Registry) -> None:
    name = await publish(registry, "acme/kit", "Of a repository.", name="pdf")
    await upload(registry, "pdf", "mallory")
    for path in ("pdf", "pdf/versions", "pdf/security", "PDF"):
        answer = await registry.client.get(f"{SKILLS}/{path}")
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-location"].startswith(f"{SKILLS}/{name}")
    page = await registry.client.get("/skills/pdf", headers=PAGE)
    assert (page.status_code, page.headers["location"]) == (301, f"/skills/{name}")
    assert (await registry.client.get("/badge/-/-/pdf.svg")).status_code == 200
    installed = {"skills": [{"name": "pdf", "currentVersion": "1.0.0"}]}
    [update] = (await registry.client.post(f"{SKILLS}/check-updates", json=installed)).json()["results"]
    assert (update["latest"], update["code"]) == ("1.0.0", None)
    counted = await registry.client.post(f"{SKILLS}/installs", json={"skills": [{"skillName": "pdf"}]})
    assert (counted.json()["counted"], counted.json()["unknown"]) == (1, [])


async def test_first_upload_keeps_its_name_against_other_uploads(registry: Registry) -> None:
    first = await upload(registry, "pdf", "alice")
    await upload(registry, "pdf", "mallory")
    assert await choices(registry, "pdf") == [first]


async def test_repository_does_not_take_over_the_name_of_an_older_upload(registry: Registry) -> None:
    """Anyone can create a repository, so the name becomes ambiguous."""
    first = await upload(registry, "pdf", "alice")
    name = await publish(registry, "acme/kit", "Of a repository.", name="pdf")
    await upload(registry, "pdf", "mallory")
    assert sorted(await choices(registry, "pdf")) == [name, first]


async def test_renamed_upload_is_not_older_than_the_listings_with_its_new_name(registry: Registry) -> None:
    renamed = await upload(registry, "old-notes", "mallory")
    name = await upload(registry, "pdf", "alice")
    await rename(registry, renamed, "mallory/uploads/pdf")
    assert await choices(registry, "pdf") == [name]


async def test_moved_listing_keeps_its_flat_name(registry: Registry) -> None:
    moved = await upload(registry, "pdf", "alice")
    await upload(registry, "pdf", "bob")
    await rename(registry, moved, "carol/uploads/pdf")
    assert await choices(registry, "pdf") == ["carol/uploads/pdf"]


async def test_upload_does_not_inherit_the_name_of_an_unlisted_skill(registry: Registry) -> None:
    """Clients that installed the unlisted skill by its flat name would get another one as its update."""
    name = await publish(registry, "acme/kit", "Of a repository.", name="pdf")
    uploaded = await upload(registry, "pdf", "mallory")
    await ask(registry, name, "unlist")
    assert await choices(registry, "pdf") == []
    assert (await registry.client.get(f"{SKILLS}/{uploaded}")).status_code == 200
    await ask(registry, name, "relist")
    assert await choices(registry, "pdf") == [name]
