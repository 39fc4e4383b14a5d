"""GitHub webhooks: signed, processed once, and a reason to check the listings of a repository."""

import hashlib
import hmac
import json
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from assay.app.maintenance import open_upstream_watcher
from assay.settings import Settings
from tests.support.catalogue import changes
from tests.support.registry import SECRET, Registry
from tests.support.skills import a_skill

LISTING = "acme/tools/greet"
HOOK_SECRET = "what-github-and-we-know-and-nobody-else"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return Settings.model_validate({**settings.model_dump(), "github_webhook_secret": HOOK_SECRET})


async def report_listing(
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


@pytest.mark.process
async def test_push_triggers_a_rescan_of_listed_skills(registry: Registry) -> None:
    """G52, G53: the new commit is scanned while the old version stays live."""
    repository = await a_listing(registry)
    pushed = repository.push({"SKILL.md": a_skill("greet", description="Better.")})
    answer = await report_listing(registry, "push", about(repository, ref="refs/heads/main", after=pushed))
    assert (200, 1) == (answer.status_code, answer.json()["requeued"])
    await registry.work()
    skill = (await registry.client.get("/api/v1/skills/acme/tools/greet")).json()["skill"]
    assert "1.0.1" == skill["currentVersion"]


@pytest.mark.process
async def test_redelivered_webhook_is_ignored(registry: Registry) -> None:
    """G83."""
    repository = await a_listing(registry)
    pushed = repository.push({"SKILL.md": a_skill("greet", description="Better.")})
    message = about(repository, ref="refs/heads/main", after=pushed)
    await report_listing(registry, "push", message)
    again = (await report_listing(registry, "push", message)).json()
    assert (True, 0) == (again["duplicate"], again["requeued"])


@pytest.mark.process
async def test_pushes_to_other_or_deleted_branches_are_ignored(registry: Registry) -> None:
    """Only the listed branch counts."""
    repository = await a_listing(registry)
    pushed = repository.push({"SKILL.md": a_skill("greet", description="Other.")}, branch="draft")
    for number, (ref, after) in enumerate([("refs/heads/draft", pushed), ("refs/heads/main", "0" * 40), ("", "x")]):
        answer = await report_listing(registry, "push", about(repository, ref=ref, after=after), delivery=str(number))
        assert (200, 0) == (answer.status_code, answer.json()["requeued"])


@pytest.mark.process
@pytest.mark.parametrize("action", ["renamed", "deleted", "archived"])
async def test_repository_events_schedule_an_upstream_check(registry: Registry, action: str) -> None:
    """G53: the repository is checked as soon as possible and its name is requested again, also under the new name."""
    repository = await a_listing(registry)
    due = "UPDATE upstream_check SET due_at = now() + interval '1 day', described_at = now()"
    async with registry.app.store.begin() as db:
        await db.execute(text(due))
    repository.rename("acme/renamed")
    assert 200 == (await report_listing(registry, "repository", about(repository, action=action))).status_code
    async with registry.app.store.begin() as db:
        rows = await db.execute(text("SELECT due_at <= now(), described_at IS NULL FROM upstream_check"))
        assert (True, True) == rows.one()


async def watched(registry: Registry, message: dict[str, Any]) -> int:
    """Deliver a repository event, then run the upstream check that it makes due."""
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE upstream_check SET due_at = now() + interval '1 day', described_at = now()"))
    assert await open_upstream_watcher(registry.app).run_batch() == 0
    assert 200 == (await report_listing(registry, "repository", message)).status_code
    return await open_upstream_watcher(registry.app).run_batch()


@pytest.mark.process
@pytest.mark.parametrize(("action", "name"), [("renamed", "acme/kit"), ("transferred", "umbrella/tools")])
async def test_renamed_repository_renames_its_listings_immediately(registry: Registry, action: str, name: str) -> None:
    """G54: GitHub reports the new name; the old name redirects, and the change feed has the rename."""
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


@pytest.mark.process
@pytest.mark.parametrize("action", ["deleted", "privatized"])
async def test_deleted_repository_takes_down_its_listings_after_the_grace_period(
    registry: Registry, action: str
) -> None:
    """G53: recorded immediately, taken down with a reason an hour later, restored when the repository returns."""
    repository = await a_listing(registry)
    repository.private = True
    assert 1 == await watched(registry, about(repository, action=action))
    assert 200 == (await registry.client.get(f"/api/v1/skills/{LISTING}")).status_code
    async with registry.app.store.begin() as db:
        hour = "UPDATE upstream_check SET due_at = now(), missing_since = missing_since - interval '1 hour'"
        await db.execute(text(hour))
    assert 1 == await open_upstream_watcher(registry.app).run_batch()
    gone = await registry.client.get(f"/api/v1/skills/{LISTING}")
    assert (410, "skill_gone") == (gone.status_code, gone.json()["code"])
    assert "GitHub has no" in gone.json()["detail"]
    [told] = await changes(registry, "tombstone")
    assert (LISTING, "gone") == (told["data"]["name"], told["data"]["standing"])
    assert "source_not_found" in json.dumps(told["data"])
    repository.private = False
    back = await report_listing(registry, "repository", about(repository, action="publicized"), delivery="two")
    assert 200 == back.status_code
    assert 1 == await open_upstream_watcher(registry.app).run_batch()
    assert 200 == (await registry.client.get(f"/api/v1/skills/{LISTING}")).status_code


@pytest.mark.process
async def test_archived_repository_stays_listed(registry: Registry) -> None:
    """It can still be read, so nothing changes."""
    repository = await a_listing(registry)
    repository.archived = True
    assert 1 == await watched(registry, about(repository, action="archived"))
    assert 200 == (await registry.client.get(f"/api/v1/skills/{LISTING}")).status_code
    assert [] == await changes(registry, "tombstone", "rename")


async def test_push_to_a_known_repository_queues_new_skills_for_inspection(registry: Registry) -> None:
    """G86."""
    repository = registry.github.add_repository("acme/fresh", files={"SKILL.md": a_skill("greet")})
    await report_listing(registry, "push", about(repository, ref="refs/heads/main", after=repository.sha))
    async with registry.app.store.begin() as db:
        rows = await db.execute(text("SELECT full_name, state, source FROM discovery_record"))
        assert ("acme/fresh", "found", "webhook") == rows.one()


@pytest.mark.parametrize("event", ["ping", "installation", "installation_repositories", "star"])
async def test_other_webhook_events_are_accepted(registry: Registry, event: str) -> None:
    """GitHub disables webhooks that return errors."""
    answer = await report_listing(registry, event, {"zen": "Keep it simple.", "action": "created"})
    assert (200, event) == (answer.status_code, answer.json()["event"])


async def test_webhook_without_a_valid_signature_is_rejected(registry: Registry) -> None:
    """G83: wrong secret, changed body, missing or malformed signature."""
    wrong = await report_listing(registry, "ping", {}, secret="another-secret-that-is-long-enough-too")
    assert (403, "bad_signature") == (wrong.status_code, wrong.json()["code"])
    for given in ("", "sha256=", "sha1=abc", "é"):
        assert (
            403 == (await report_listing(registry, "ping", {}, **{"X-Hub-Signature-256": given.encode()})).status_code
        )
    bare = await registry.client.post(
        "/api/v1/webhooks/github", content=b"{}", headers={"X-GitHub-Event": "ping", "X-GitHub-Delivery": "1"}
    )
    assert (401, "not_signed") == (bare.status_code, bare.json()["code"])
    changed = hmac.new(HOOK_SECRET.encode(), b"{ }", hashlib.sha256).hexdigest()
    answer = await report_listing(registry, "ping", b"{}", **{"X-Hub-Signature-256": f"sha256={changed}"})
    assert 403 == answer.status_code


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b"{" * 100_000, b'{"repository": 1}'])
async def test_malformed_webhook_is_a_client_error(registry: Registry, body: bytes) -> None:
    """G83."""
    assert 400 == (await report_listing(registry, "push", body)).status_code


async def test_oversized_webhook_is_rejected(registry: Registry) -> None:
    assert 413 == (await report_listing(registry, "push", b" " * (5 * 1024 * 1024 + 1))).status_code


class TestWithoutSecret:
    """G83: A registry without a webhook secret accepts no webhooks."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return Settings.model_validate({**settings.model_dump(), "github_webhook_secret": None})

    async def test_webhook_without_a_configured_secret_returns_503(self, registry: Registry) -> None:
        """G83: the error names the missing setting."""
        answer = await report_listing(registry, "ping", {}, secret=SECRET)
        assert (503, "secret_missing") == (answer.status_code, answer.json()["code"])
        assert "ASSAY_GITHUB_WEBHOOK_SECRET" in answer.json()["detail"]
