"""Concurrent random writers: everything that authors, owners, operators and upstream can do to a catalogue."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import httpx
from sqlalchemy import text

from assay.maintenance.watch_upstream import UpstreamWatcher
from assay.model.errors import AssayError
from assay.model.submission import ACTIVE
from assay.moderation.withdraw import status_reason, withdraw
from assay.store.database.database import DATABASE_BUSY
from tests.support.archives import a_zip
from tests.support.fake_github import FakeRepository
from tests.support.processes import until
from tests.support.registry import SECRET, Registry
from tests.support.skills import a_skill

KEY = {"X-Internal-Key": SECRET}
WHY = {"reason": "The storm wants it so."}
SKILLS = ("greet", "count")
# Few, so that content recurs, also in several repositories.
DESCRIPTIONS = ("Says hello.", "Says goodbye.", "Counts to ten.", "Counts to twenty.", "Sings a song.")
REPOSITORIES = 6
# The share of submitters that wait for a decision.
PATIENT = 0.5
# The errors a writer may get. Everything else is a bug.
TOLD = frozenset({200, 201, 300, 404, 409, 410})
# Submissions in review are left alone.
DUE = """
    UPDATE upstream_check SET due_at = now() WHERE repository_id IN (
        SELECT repository_id FROM upstream_check WHERE due_at > now() FOR UPDATE SKIP LOCKED
    )
"""
Act = Callable[[random.Random], Awaitable[None]]


class Storm:
    """The writers of one registry, and their statistics."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.done: Counter[str] = Counter()
        self._numbers = 0
        self._acts: dict[Act, int] = {
            self.submit: 6,
            self.update: 6,
            self.upload: 2,
            self.yank: 4,
            self.unyank: 4,
            self.deprecate: 2,
            self.tag: 1,
            self.unlist: 2,
            self.relist: 3,
            self.withdraw: 1,
            self.reindex: 2,
            self.block: 2,
            self.unblock: 3,
            self.rename: 2,
            self.vanish: 1,
            self.come_back: 2,
            self.look: 3,
        }

    async def blow(self, chance: random.Random, acts: int) -> None:
        """Run one writer for a number of actions."""
        for _ in range(acts):
            [act] = chance.choices(list(self._acts), list(self._acts.values()))
            await act(chance)
            self.done["acts"] += 1

    async def submit(self, chance: random.Random) -> None:
        """Submit a skill of a repository by its current or a former name."""
        repository = await self._repository(chance)
        body = {
            "repoUrl": f"{self.registry.web_url}/{repository.full_name}",
            "skillName": chance.choice(SKILLS),
        }
        body["skillPath"] = f"{body['skillName']}/SKILL.md"
        answer = await self._ask("submit", "POST", "/api/v1/submissions", json=body)
        if chance.random() < PATIENT:
            await until(lambda: self._is_decided(answer.json()["id"]))

    async def update(self, chance: random.Random) -> None:
        """Change the source, with or without a resubmission."""
        repository = await self._repository(chance)
        repository.push(_files(chance))
        self.done["push"] += 1
        if chance.random() < 0.7:
            await self.submit(chance)

    async def upload(self, chance: random.Random) -> None:
        """Upload files."""
        name, content = chance.choice(SKILLS), _text(chance)
        files = {"archive": (f"{name}.zip", a_zip({f"{name}/SKILL.md": content(name)}))}
        await self._ask("upload", "POST", "/api/v1/submissions/upload", files=files)

    async def yank(self, chance: random.Random) -> None:
        await self._to_a_version(chance, "yank")

    async def unyank(self, chance: random.Random) -> None:
        await self._to_a_version(chance, "unyank", "version.status = 'yanked'")

    async def deprecate(self, chance: random.Random) -> None:
        await self._to_a_version(chance, chance.choice(("deprecate", "undeprecate")))

    async def tag(self, chance: random.Random) -> None:
        found = await self._pick(chance, "true")
        if found is not None:
            await self._ask("tag", "PUT", f"/api/v1/skills/{found[0]}/tags/stable", json={"version": found[1]})

    async def unlist(self, chance: random.Random) -> None:
        await self._to_a_listing(chance, "unlist", "skill.standing = 'live'")

    async def relist(self, chance: random.Random) -> None:
        await self._to_a_listing(chance, "relist", "skill.standing = 'unlisted'")

    async def reindex(self, chance: random.Random) -> None:
        found = await self._pick(chance, "true")
        if found is not None:
            await self._ask("reindex", "POST", f"/api/v1/skills/{found[0]}/reindex")

    async def withdraw(self, chance: random.Random) -> None:
        """Withdraw a version like a deep scan."""
        found = await self._pick(chance, "version.status <> 'withdrawn'")
        if found is None:
            return
        why = status_reason("malware", "It was found out.", at=self.registry.app.clock.now(), by="storm")
        try:
            async with self.registry.app.store.begin() as db:
                await withdraw(db, found[0], found[1], why)
            self.done["withdraw"] += 1
        except AssayError:
            self.done["withdraw, refused"] += 1

    async def block(self, chance: random.Random) -> None:
        """Block content, a repository, one skill, or a name everywhere."""
        found = await self._pick(chance, "true")
        if found is None:
            return
        repository, _, name = found[0].rpartition("/")
        target = chance.choice(
            (
                {"contentDigest": found[2]},
                {"repository": repository},
                {"repository": repository, "skillName": name},
                {"skillName": name, "everywhere": True},
            )
        )
        body = {"threatType": "malware", "severity": "critical", **WHY, **target}
        await self._ask("block", "POST", "/api/v1/admin/blocklist", json=body)

    async def unblock(self, chance: random.Random) -> None:
        async with self.registry.app.store.begin() as db:
            ids = await db.execute(text("SELECT id FROM blocklist_entry WHERE lifted_at IS NULL ORDER BY id"))
            holding = list(ids.scalars())
        if holding:
            await self._ask("unblock", "DELETE", f"/api/v1/admin/blocklist/{chance.choice(holding)}", json=WHY)

    async def rename(self, chance: random.Random) -> None:
        """Rename a repository to a new or formerly used name."""
        repository = await self._repository(chance)
        name = f"{chance.choice(('acme', 'umbrella', 'initech'))}/kit-{chance.randrange(REPOSITORIES * 2)}"
        with self.registry.github.lock:
            known, is_old = self.registry.github.directory.find(name)
            if known is None or is_old:
                repository.rename(name)
                self.done["rename"] += 1

    async def vanish(self, chance: random.Random) -> None:
        """Delete a repository or one of its skills."""
        repository = await self._repository(chance)
        if chance.random() < 0.5:
            repository.private = True
        else:
            name = f"{chance.choice(SKILLS)}/SKILL.md"
            if repository.head is not None and name in repository.head.files:
                repository.push({name: None})
        self.done["vanish"] += 1
        await self.look(chance)

    async def come_back(self, chance: random.Random) -> None:
        hidden = [each for each in self.registry.github.directory.all() if each.private]
        for repository in hidden[:1]:
            repository.private = False
            self.done["come back"] += 1
        await self.look(chance)

    async def look(self, _chance: random.Random | None = None) -> None:
        """Check every listing against its repository."""
        app = self.registry.app
        async with app.store.begin() as db:
            await db.execute(text(DUE))
        watch = UpstreamWatcher(app.store, app.github, app.clock, timedelta(hours=6), grace=timedelta(0))
        while await watch.run_batch():
            self.done["look"] += 1

    async def _is_decided(self, submission_id: str) -> bool:
        return (await self.registry.read(submission_id))["state"] not in ACTIVE

    async def _repository(self, chance: random.Random) -> FakeRepository:
        """Return a repository; they are created one after another."""
        with self.registry.github.lock:
            known = list(self.registry.github.directory.all())
            if (len(known) < REPOSITORIES and chance.random() < 0.4) or not known:
                self._numbers += 1
                return self.registry.github.add_repository(f"acme/tools-{self._numbers}", files=_files(chance))
            return chance.choice(known)

    async def _pick(self, chance: random.Random, condition: str) -> tuple[str, str, str] | None:
        """Return name, version and digest of a matching version."""
        async with self.registry.app.store.begin() as db:
            rows = await db.execute(
                text(
                    "SELECT skill.name, version.version, version.content_digest FROM skill"
                    " JOIN skill_version AS version ON version.skill_id = skill.id"
                    f" WHERE {condition} ORDER BY skill.id, version.ordinal"
                )
            )
            found = [tuple(row) for row in rows]
        return chance.choice(found) if found else None

    async def _to_a_version(self, chance: random.Random, what: str, condition: str = "true") -> None:
        found = await self._pick(chance, condition)
        if found is not None:
            await self._ask(what, "POST", f"/api/v1/skills/{found[0]}/versions/{found[1]}/{what}", json=WHY)

    async def _to_a_listing(self, chance: random.Random, what: str, condition: str) -> None:
        found = await self._pick(chance, condition)
        if found is not None:
            await self._ask(what, "POST", f"/api/v1/skills/{found[0]}/{what}", json=WHY)

    async def _ask(self, what: str, method: str, url: str, **given: Any) -> httpx.Response:
        for _ in range(5):
            answer = await self.registry.client.request(method, url, headers=KEY, timeout=60, **given)
            # A deadlock victim is told to retry, and does.
            if answer.status_code != 503 or answer.json()["code"] != DATABASE_BUSY:
                break
        assert answer.status_code in TOLD, f"{method} {url} → {answer.status_code}: {answer.text}"
        self.done[what if answer.is_success else f"{what}, refused"] += 1
        await asyncio.sleep(0)
        return answer


def _text(chance: random.Random) -> Callable[[str], str]:
    description = chance.choice(DESCRIPTIONS)
    return lambda name: a_skill(name, description=description)


def _files(chance: random.Random) -> dict[str, str | bytes | None]:
    """Return one of the skills, or both."""
    chosen = chance.sample(SKILLS, chance.choice((1, 2, 2)))
    return {f"{name}/SKILL.md": _text(chance)(name) for name in chosen}
