"""Names that move between repositories."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from assay.maintenance.watch_upstream import UpstreamWatcher
from assay.settings import Settings
from assay.store.skills.locks import lock_skill
from assay.store.skills.names import rename_listing
from tests.support.catalogue import agree, changes, gone, publish, read
from tests.support.edge_copies import bring_level, expected, meaning_of
from tests.support.fake_github import FakeGitHub
from tests.support.registry import SECRET, Registry, open_registry
from tests.support.skills import a_skill

pytestmark = pytest.mark.process

MINE, THEIRS = "Says hello.", "Says whatever a stranger wants."


async def look(registry: Registry) -> None:
    """Check every listing against its repository once, without a grace period."""
    app = registry.app
    async with app.store.begin() as db:
        await db.execute(text("UPDATE upstream_check SET due_at = now(), described_at = NULL"))
    await UpstreamWatcher(app.store, app.github, app.clock, timedelta(hours=6), timedelta(0)).run_batch()


async def move_away(registry: Registry, *, seen: bool) -> str:
    """Rename a listed repository, let another take its name, and return the listing's id."""
    name = await publish(registry, "acme/tools", MINE)
    listed: str = (await read(registry, name))["skill"]["id"]
    repository, _ = registry.github.directory.find("acme/tools")
    assert repository is not None
    repository.rename("umbrella/kit")
    if seen:
        await look(registry)
    registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet", description=THEIRS)})
    return listed


async def test_new_owner_of_a_name_does_not_get_the_listing(registry: Registry) -> None:
    """G54: the submission is refused; the listing stays until its repository is found missing."""
    listed = await move_away(registry, seen=False)
    submitted = await registry.submit("acme/tools", "greet")
    await registry.work()
    whole = await registry.client.post("/api/v1/submissions", json={"repoUrl": f"{registry.web_url}/acme/tools"})
    assert (whole.status_code, whole.json()["code"]) == (404, "source_replaced")
    refused = await registry.read(submitted["id"])
    assert (refused["state"], refused["reason"]["code"]) == ("REJECTED", "source_replaced")
    kept = (await read(registry, "acme/tools/greet"))["skill"]
    assert (kept["id"], kept["description"], kept["currentVersion"]) == (listed, MINE, "1.0.0")
    await look(registry)
    assert "no longer the repository" in (await gone(registry, "acme/tools/greet"))["reason"]
    # Submitting the new location restores the listing.
    await registry.submit("umbrella/kit", "greet")
    await registry.work()
    await look(registry)
    back = (await read(registry, "umbrella/kit/greet"))["skill"]
    assert (back["id"], back["description"]) == (listed, MINE)
    await agree(registry, "umbrella/kit/greet")


async def test_released_name_can_be_used_by_another_repository(settings: Settings, github: FakeGitHub) -> None:
    """G54."""
    async with open_registry(settings, github) as registry:
        listed = await move_away(registry, seen=True)
    # Another process, without cached responses.
    async with open_registry(settings, github) as registry:
        await check_both(registry, listed)


async def check_both(registry: Registry, listed: str) -> None:
    """Check both listings."""
    whole = await registry.client.post("/api/v1/submissions", json={"repoUrl": f"{registry.web_url}/acme/tools"})
    assert whole.status_code == 201, whole.text
    await registry.work()
    moved = (await read(registry, "umbrella/kit/greet"))["skill"]
    assert (moved["id"], moved["description"]) == (listed, MINE)
    new = (await read(registry, "acme/tools/tools"))["skill"]
    assert (new["id"] == listed, new["description"]) == (False, THEIRS)
    await look(registry)
    await registry.work()
    await agree(registry, "acme/tools/tools", "umbrella/kit/greet")


async def test_two_repositories_with_the_same_name(registry: Registry) -> None:
    """the holder keeps it until its new location is known."""
    first = await publish(registry, "acme/one", "First.")
    second = await publish(registry, "acme/two", "Second.")
    one, _ = registry.github.directory.find("acme/one")
    two, _ = registry.github.directory.find("acme/two")
    assert one is not None
    assert two is not None
    one.rename("acme/elsewhere")
    two.rename("acme/one")
    await registry.submit("acme/two", "greet")
    await registry.work()
    await agree(registry, first, second)
    await look(registry)
    await gone(registry, first)
    await registry.submit("acme/elsewhere", "greet")
    await registry.work()
    await look(registry)
    await look(registry)
    assert (await read(registry, "acme/elsewhere/greet"))["skill"]["description"] == "First."
    assert (await read(registry, "acme/one/greet"))["skill"]["description"] == "Second."
    await agree(registry, "acme/elsewhere/greet", "acme/one/greet")


async def copied(registry: Registry, folder: Path, name: str) -> str:
    """Return the source of a listing in the edge copy, which must equal a rebuilt one."""
    await bring_level(registry, registry.app.edge)
    assert await meaning_of(registry.app.edge) == await expected(registry, folder)
    registry.app.copy.forget()
    listing = await registry.app.copy.find(name)
    assert listing is not None
    return str(listing.skill.repository)


async def test_changed_spelling_reaches_the_edge_copy(registry: Registry, tmp_path: Path) -> None:
    """G54."""
    name = await publish(registry, "acme/tools", MINE)
    assert await copied(registry, tmp_path, name) == "acme/tools"
    repository, _ = registry.github.directory.find("acme/tools")
    assert repository is not None
    repository.rename("Acme/Tools")
    await look(registry)
    assert await copied(registry, tmp_path, name) == "Acme/Tools"
    [told] = await changes(registry, "update")
    assert told["data"]["name"] == name
    await agree(registry, name)


async def test_repository_that_returns_to_its_first_name(registry: Registry, tmp_path: Path) -> None:
    """G54."""
    name = await publish(registry, "acme/tools", MINE)
    repository, _ = registry.github.directory.find("acme/tools")
    assert repository is not None
    async with registry.app.store.begin() as db:
        await rename_listing(
            db, await lock_skill(db, await publish(registry, "acme/other", "Other.")), "acme/kit/greet"
        )
    for called in ("acme/kit", "acme/tools"):
        repository.rename(called)
        await look(registry)
        assert await copied(registry, tmp_path, name) == called
    assert await changes(registry, "rename") != []


async def test_submitting_a_renamed_repository_finds_its_listings(registry: Registry) -> None:
    """G54."""
    name = await publish(registry, "acme/tools", MINE)
    repository, _ = registry.github.directory.find("acme/tools")
    assert repository is not None
    repository.rename("umbrella/kit")
    whole = await registry.client.post("/api/v1/submissions", json={"repoUrl": f"{registry.web_url}/umbrella/kit"})
    assert whole.status_code == 200, whole.text
    await registry.work()
    assert (await read(registry, "umbrella/kit/greet"))["skill"]["description"] == MINE
    assert (await read(registry, name))["skill"]["name"] == "umbrella/kit/greet"
    await agree(registry, "umbrella/kit/greet")


ADMIN = {"X-Internal-Key": SECRET}


async def adopt(
    registry: Registry, repository: str, reason: str = "Its owner made it anew."
) -> tuple[int, dict[str, Any]]:
    """Adopt a repository as an operator."""
    path = f"/api/v1/admin/repositories/{repository}/adopt"
    answer = await registry.client.post(path, json={"reason": reason}, headers=ADMIN)
    return answer.status_code, answer.json()


async def test_operator_adopts_a_recreated_repository(registry: Registry) -> None:
    """G54: its content is examined first."""
    listed = await move_away(registry, seen=False)
    await look(registry)
    await gone(registry, "acme/tools/greet")
    status, adopted = await adopt(registry, "Acme/tools")
    assert (status, adopted["repository"]) == (200, "acme/tools")
    assert adopted["formerId"] != adopted["presentId"]
    await look(registry)
    await registry.work()
    after = (await read(registry, "acme/tools/greet"))["skill"]
    assert (after["id"], after["description"], after["currentVersion"]) == (listed, THEIRS, "1.0.1")
    await agree(registry, "acme/tools/greet")
    audit = (await registry.client.get("/api/v1/admin/audit", headers=ADMIN)).json()["events"]
    told = next(each for each in audit if each["action"] == "repository_adopted")
    assert (told["subject"], told["detail"]["reason"]) == ("Acme/tools", "Its owner made it anew.")
    # Only once.
    status, again = await adopt(registry, "acme/tools")
    assert (status, again["code"]) == (409, "not_replaced")


async def test_unnecessary_adoption_is_rejected(registry: Registry) -> None:
    await move_away(registry, seen=False)
    registry.github.add_repository("acme/other", files={"SKILL.md": a_skill("other")})
    answers = [await adopt(registry, name) for name in ("acme/other", "acme/nowhere", "acme/..", "acme/to%00ols")]
    assert [status for status, _ in answers] == [404, 404, 404, 400]
    assert answers[0][1]["code"] == "repository_not_found"
    await registry.submit("umbrella/kit", "greet")
    await registry.work()
    status, kept = await adopt(registry, "acme/tools")
    assert (status, kept["code"]) == (409, "not_replaced"), "its listing has moved on with it"
    assert (await read(registry, "umbrella/kit/greet"))["skill"]["description"] == MINE


async def test_concurrent_adoptions_decide_once(registry: Registry) -> None:
    """G54."""
    await move_away(registry, seen=False)
    answers = await asyncio.gather(*(adopt(registry, "acme/tools", f"Said {number}.") for number in range(8)))
    codes = sorted(answer.get("code", "adopted") for _, answer in answers)
    assert codes[0] == "adopted"
    assert set(codes[1:]) <= {"not_replaced", "repository_changed", "already_listed"}
    audit = (await registry.client.get("/api/v1/admin/audit", headers=ADMIN)).json()["events"]
    assert [each["action"] for each in audit].count("repository_adopted") == 1


async def test_adoption_during_a_submission_of_the_moved_repository(registry: Registry) -> None:
    """G54: a listing belongs to exactly one of them."""
    await move_away(registry, seen=False)
    await registry.submit("umbrella/kit", "greet")
    (status, answer), _ = await asyncio.gather(adopt(registry, "acme/tools"), registry.work())
    assert (status, answer.get("code")) in {(200, None), (409, "not_replaced"), (409, "repository_changed")}
    await look(registry)
    await registry.work()
    # The moved repository is listed under its new name, alone or beside the adopted one.
    names = ["umbrella/kit/greet"] if status == 409 else ["acme/tools/greet", "umbrella/kit/greet"]
    told = {"acme/tools/greet": THEIRS, "umbrella/kit/greet": MINE}
    assert [(await read(registry, name))["skill"]["description"] for name in names] == [told[name] for name in names]
    await agree(registry, *names)
