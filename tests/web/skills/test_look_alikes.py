"""Listings whose name resembles a popular one say so; names from repositories are never refused."""

from dataclasses import replace

import pytest
from sqlalchemy import text

from assay.accounts.names.popular import CACHED_FOR, MIN_INSTALLS, MIN_STARS, PopularNamesCache
from assay.settings import Settings
from tests.support.archives import a_zip
from tests.support.catalogue import publish, read
from tests.support.fake_github import FakeGitHub
from tests.support.registry import Registry, open_registry
from tests.support.skills import a_skill
from tests.support.web.owners import ask
from tests.support.web.people import PAGE, MovableTime, a_browser, a_token, bearer

pytestmark = pytest.mark.process

IMITATION = "mallory/kit/release-note"


async def make_popular(registry: Registry, column: str, number: int) -> None:
    async with registry.app.store.begin() as db:
        await db.execute(text(f"UPDATE skill SET {column} = :number WHERE name LIKE 'acme/%'"), {"number": number})


async def two_listings(registry: Registry) -> str:
    """Publish a skill and one with a similar name."""
    name = await publish(registry, "acme/tools", "Writes release notes.", name="release-notes")
    await publish(registry, "mallory/kit", "Writes a release note.", name="release-note")
    return name


@pytest.mark.parametrize(
    ("column", "number", "is_popular"),
    [
        ("installs", MIN_INSTALLS, True),
        ("installs", MIN_INSTALLS - 1, False),
        ("stars", MIN_STARS, True),
        ("stars", MIN_STARS - 1, False),
    ],
)
async def test_near_miss_of_a_popular_name_is_labelled(
    registry: Registry, column: str, number: int, is_popular: bool
) -> None:
    name = await two_listings(registry)
    await make_popular(registry, column, number)
    assert (await read(registry, IMITATION))["looksLike"] == (name if is_popular else None)
    assert (await read(registry, name))["looksLike"] is None
    page = await registry.client.get(f"/skills/{IMITATION}", headers=PAGE)
    assert (f"This name resembles that of {name}" in page.text) == is_popular


async def upload(registry: Registry, name: str, token: str) -> tuple[int, str | None]:
    """Upload a skill and return the status and the code of the response."""
    files = {"archive": ("skill.zip", a_zip({"SKILL.md": a_skill(name)}))}
    answer = await registry.client.post("/api/v1/submissions/upload", files=files, headers=bearer(token))
    return answer.status_code, answer.json().get("code")


async def test_upload_with_a_near_miss_of_a_popular_name_is_refused(registry: Registry) -> None:
    """Except by the owner of the popular name; a new version is accepted even if the name became similar."""
    alice, bob = await a_token(registry.app, "alice"), await a_token(registry.app, "bob")
    assert await upload(registry, "release-note", bob) == (201, None)
    await registry.work()
    await publish(registry, "alice/tools", "Writes release notes.", name="release-notes")
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE skill SET installs = 1000 WHERE name LIKE 'alice/%'"))
    # The names were read at the first upload; another process reads them now.
    other = replace(registry, app=replace(registry.app, popular_names=PopularNamesCache()))
    async with a_browser(other.app) as other.client:
        carol = await a_token(registry.app, "carol")
        assert await upload(other, "release-note", carol) == (409, "similar_name")
        assert await upload(other, "release-notes", carol) == (201, None)
        assert await upload(other, "release-note", alice) == (201, None)
        assert (await upload(other, "release-note", bob))[0] == 200


async def test_popular_names_are_read_again_after_a_minute(settings: Settings, github: FakeGitHub) -> None:
    """Names that are no longer live are not popular."""
    time = MovableTime()
    async with open_registry(settings, github, time.clock) as registry:
        name = await two_listings(registry)
        assert (await read(registry, IMITATION))["looksLike"] is None
        await make_popular(registry, "installs", MIN_INSTALLS)
        assert (await read(registry, IMITATION))["looksLike"] is None
        time.pass_by(CACHED_FOR.total_seconds())
        assert (await read(registry, IMITATION))["looksLike"] == name
        await ask(registry, name, "unlist")
        time.pass_by(CACHED_FOR.total_seconds())
        assert (await read(registry, IMITATION))["looksLike"] is None
