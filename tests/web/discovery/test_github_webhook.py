"""Messages of GitHub: signed, taken once, and a reason to look at what is listed."""

import hashlib
import hmac
import json
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from assay.app.maintenance import open_watch
from assay.settings import Settings
from tests.support.catalogue import changes
from tests.support.registry import SECRET, Registry
from tests.support.skills import a_skill

LISTING = "acme/tools/greet"
HOOK_SECRET = "what-github-and-we-know-and-nobody-else"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return Settings.model_validate({**settings.model_dump(), "github_webhook_secret": HOOK_SECRET})


async def tell(
    registry: Registry, event: str, message: Any, *, delivery: str = "one", secret: str = HOOK_SECRET, **headers: Any
) -> httpx.Response:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    signature = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    given = {"X-GitHub-Event": event, "X-GitHub-Delivery": delivery, "X-Hub-Signature-256": signature}
    return await registry.client.post(
        "/api/v1/webhooks/github", content=body, headers={"Content-Type": "application/json", **given, **headers}
    )


def about(repository: Any, **more: Any) -> dict[str, Any]:
    described = {"id": repository.id, "full_name": repository.full_name, "default_branch": "main"}
    return {"repository": described, **more}


async def a_listing(registry: Registry) -> Any:
    repository = registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    await registry.submit("acme/tools", "greet")
    await registry.work()
    return repository


async def test_a_push_leads_to_a_new_look_at_what_is_listed(registry: Registry) -> None:
    """G52, G53: the listing is examined at the new commit, and the old version stays live until then."""
    repository = await a_listing(registry)
    pushed = repository.push({"SKILL.md": a_skill("greet", description="Better.")})
    answer = await tell(registry, "push", about(repository, ref="refs/heads/main", after=pushed))
    assert (200, 1) == (answer.status_code, answer.json()["requeued"])
    await registry.work()
    skill = (await registry.client.get("/api/v1/skills/acme/tools/greet")).json()["skill"]
    assert "1.0.1" == skill["currentVersion"]


async def test_a_message_is_taken_once(registry: Registry) -> None:
    """G83: a message that is sent again does nothing again."""
    repository = await a_listing(registry)
    pushed = repository.push({"SKILL.md": a_skill("greet", description="Better.")})
    message = about(repository, ref="refs/heads/main", after=pushed)
    await tell(registry, "push", message)
    again = (await tell(registry, "push", message)).json()
    assert (True, 0) == (again["duplicate"], again["requeued"])


async def test_other_branches_and_deleted_ones_are_left_alone(registry: Registry) -> None:
    """Only the branch that is listed counts."""
    repository = await a_listing(registry)
    pushed = repository.push({"SKILL.md": a_skill("greet", description="Other.")}, branch="draft")
    for number, (ref, after) in enumerate([("refs/heads/draft", pushed), ("refs/heads/main", "0" * 40), ("", "x")]):
        answer = await tell(registry, "push", about(repository, ref=ref, after=after), delivery=str(number))
        assert (200, 0) == (answer.status_code, answer.json()["requeued"])


@pytest.mark.parametrize("action", ["renamed", "deleted", "archived"])
async def test_what_happens_to_a_repository_is_for_the_watch(registry: Registry, action: str) -> None:
    """G53: it is looked at as soon as possible, and asked anew what it is called, also under its new name."""
    repository = await a_listing(registry)
    due = "UPDATE upstream_check SET due_at = now() + interval '1 day', described_at = now()"
    async with registry.app.store.begin() as db:
        await db.execute(text(due))
    repository.rename("acme/renamed")
    assert 200 == (await tell(registry, "repository", about(repository, action=action))).status_code
    async with registry.app.store.begin() as db:
        rows = await db.execute(text("SELECT due_at <= now(), described_at IS NULL FROM upstream_check"))
        assert (True, True) == rows.one()


async def watched(registry: Registry, message: dict[str, Any]) -> int:
    """GitHub tells of a repository that nobody would look at for a day; then the watch does what is due."""
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE upstream_check SET due_at = now() + interval '1 day', described_at = now()"))
    assert await open_watch(registry.app).look() == 0
    assert 200 == (await tell(registry, "repository", message)).status_code
    return await open_watch(registry.app).look()


@pytest.mark.parametrize(("action", "name"), [("renamed", "acme/kit"), ("transferred", "umbrella/tools")])
async def test_a_repository_that_moves_takes_its_listings_along_at_once(
    registry: Registry, action: str, name: str
) -> None:
    """G54: told by GitHub under its new name; the old name leads to the new listing, and the feed tells it."""
    repository = await a_listing(registry)
    repository.rename(name)
    assert 1 == await watched(registry, about(repository, action=action))
    for asked in (LISTING, f"{name}/greet"):
        found = (await registry.client.get(f"/api/v1/skills/{asked}", follow_redirects=True)).json()["skill"]
        assert f"{name}/greet" == found["name"]
    page = await registry.client.get(f"/skills/{LISTING}")
    assert (301, f"/skills/{name}/greet") == (page.status_code, page.headers["Location"])
    [told] = await changes(registry, "rename")
    assert (LISTING, f"{name}/greet") == (told["data"]["from"], told["data"]["name"])


@pytest.mark.parametrize("action", ["deleted", "privatized"])
async def test_a_repository_that_is_gone_takes_its_listings_down_when_the_grace_is_over(
    registry: Registry, action: str
) -> None:
    """G53: noted at once, taken down with its reason if it is still missing an hour later, and back when it is back."""
    repository = await a_listing(registry)
    repository.private = True
    assert 1 == await watched(registry, about(repository, action=action))
    assert 200 == (await registry.client.get(f"/api/v1/skills/{LISTING}")).status_code
    async with registry.app.store.begin() as db:
        hour = "UPDATE upstream_check SET due_at = now(), missing_since = missing_since - interval '1 hour'"
        await db.execute(text(hour))
    assert 1 == await open_watch(registry.app).look()
    gone = await registry.client.get(f"/api/v1/skills/{LISTING}")
    assert (410, "skill_gone") == (gone.status_code, gone.json()["code"])
    assert "GitHub has no" in gone.json()["detail"]
    [told] = await changes(registry, "tombstone")
    assert (LISTING, "gone") == (told["data"]["name"], told["data"]["standing"])
    assert "source_not_found" in json.dumps(told["data"])
    repository.private = False
    back = await tell(registry, "repository", about(repository, action="publicized"), delivery="two")
    assert 200 == back.status_code
    assert 1 == await open_watch(registry.app).look()
    assert 200 == (await registry.client.get(f"/api/v1/skills/{LISTING}")).status_code


async def test_a_repository_that_is_archived_stays_listed(registry: Registry) -> None:
    """It can be read as before: it is looked at, and nothing changes."""
    repository = await a_listing(registry)
    repository.archived = True
    assert 1 == await watched(registry, about(repository, action="archived"))
    assert 200 == (await registry.client.get(f"/api/v1/skills/{LISTING}")).status_code
    assert [] == await changes(registry, "tombstone", "rename")


async def test_a_push_to_a_known_repository_lets_discovery_find_new_skills(registry: Registry) -> None:
    """G86: what is not listed yet is written down to be looked into."""
    repository = registry.github.add_repository("acme/fresh", files={"SKILL.md": a_skill("greet")})
    await tell(registry, "push", about(repository, ref="refs/heads/main", after=repository.sha))
    async with registry.app.store.begin() as db:
        rows = await db.execute(text("SELECT full_name, state, source FROM discovery_record"))
        assert ("acme/fresh", "found", "webhook") == rows.one()


@pytest.mark.parametrize("event", ["ping", "installation", "installation_repositories", "star"])
async def test_everything_else_is_accepted(registry: Registry, event: str) -> None:
    """GitHub must not take us for broken."""
    answer = await tell(registry, event, {"zen": "Keep it simple.", "action": "created"})
    assert (200, event) == (answer.status_code, answer.json()["event"])


async def test_only_what_is_signed_is_read(registry: Registry) -> None:
    """G83: another secret, a changed body, no signature, one that is none."""
    wrong = await tell(registry, "ping", {}, secret="another-secret-that-is-long-enough-too")
    assert (403, "bad_signature") == (wrong.status_code, wrong.json()["code"])
    for given in ("", "sha256=", "sha1=abc", "é"):
        assert 403 == (await tell(registry, "ping", {}, **{"X-Hub-Signature-256": given.encode()})).status_code
    bare = await registry.client.post(
        "/api/v1/webhooks/github", content=b"{}", headers={"X-GitHub-Event": "ping", "X-GitHub-Delivery": "1"}
    )
    assert (401, "not_signed") == (bare.status_code, bare.json()["code"])
    changed = hmac.new(HOOK_SECRET.encode(), b"{ }", hashlib.sha256).hexdigest()
    answer = await tell(registry, "ping", b"{}", **{"X-Hub-Signature-256": f"sha256={changed}"})
    assert 403 == answer.status_code


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b"{" * 100_000, b'{"repository": 1}'])
async def test_what_cannot_be_read_is_the_senders_mistake(registry: Registry, body: bytes) -> None:
    """G83: never a bug of ours."""
    assert 400 == (await tell(registry, "push", body)).status_code


async def test_a_message_that_is_too_long_is_not_read(registry: Registry) -> None:
    """Everything is bounded."""
    assert 413 == (await tell(registry, "push", b" " * (5 * 1024 * 1024 + 1))).status_code


class TestWithoutSecret:
    """G83: a secret that is missing is never a reason to believe anybody."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return Settings.model_validate({**settings.model_dump(), "github_webhook_secret": None})

    async def test_nothing_is_taken_and_the_setting_is_named(self, registry: Registry) -> None:
        """G83: 503, and which setting is missing."""
        answer = await tell(registry, "ping", {}, secret=SECRET)
        assert (503, "secret_missing") == (answer.status_code, answer.json()["code"])
        assert "ASSAY_GITHUB_WEBHOOK_SECRET" in answer.json()["detail"]
