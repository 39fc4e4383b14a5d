"""Edge copies under test: expected content, and stores that fail at a chosen moment."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.edge.kv import Edge
from assay.edge.lmdb import LmdbEdge
from assay.edge_sync.projector import Projector
from assay.edge_sync.rebuild import rebuild
from assay.model.skill import StatusReason
from assay.moderation.withdraw import unlist
from assay.store.feed.edge_rows import read_lag
from tests.support.edge_stores import contents_of
from tests.support.processes import until
from tests.support.registry import Registry
from tests.support.skills import a_repository

DERIVED = ("skill:", "detail:", "alias:", "sub:", "block:")
MANY = """
WITH listed AS (
    INSERT INTO skill (id, name, repository_id, skill_path, display_name, description, author, tier, method, score,
        trust_score, trust_tier, current_version_id)
    SELECT uuidv7(), format('%s/repo-%s/skill-%s', chr(97 + number % 26), number % 10, number), :repository_id,
        'skills/' || number || '/SKILL.md', 'Skill ' || number, 'A skill that does thing ' || number, 'bulk', 'SCANNED',
        'static', 90, 50, 'T2', uuidv7()
    FROM generate_series(1, CAST(:number AS int)) AS number
    RETURNING id, current_version_id
)
INSERT INTO skill_version (id, skill_id, version, ordinal, content_digest, commit, scan_id, tier, score, hallmark)
SELECT current_version_id, listed.id, '1.0.0', 1, :digest, repeat('b', 40), scan.id, 'SCANNED', 90, '{}'
FROM listed, scan WHERE scan.content_digest = :digest
"""
DIGEST = "sha256:" + "a" * 64


class Killed(Exception):
    """Raised in place of a killed process."""


class Dying:
    """A store whose user is killed just before or after the nth write."""

    def __init__(self, edge: Edge, at: int, *, after: bool) -> None:
        self._edge, self._left, self._after = edge, at, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._edge, name)

    async def write(self, *given: Any, **more: Any) -> bool:
        self._left -= 1
        if self._left == 0 and not self._after:
            raise Killed
        done = await self._edge.write(*given, **more)
        if self._left == 0:
            raise Killed
        return done


def projector_of(registry: Registry, edge: Edge) -> Projector:
    """Return a projector from this registry to this store."""
    return Projector(registry.app.store, edge, registry.app.clock.now)


async def bring_level(registry: Registry, edge: Edge) -> None:
    """Project every committed change, waiting for serials held back by open transactions."""
    projector = projector_of(registry, edge)

    async def is_level() -> bool:
        await projector.catch_up()
        async with registry.app.store.begin() as db:
            return (await read_lag(db, await edge.read_serial())).waiting == 0

    await until(is_level)


async def meaning_of(edge: Edge) -> dict[str, object]:
    """Return the content of a copy without its serials."""
    values = await contents_of(edge)
    return {key: _without_serial(raw) for key, raw in values.items() if key.startswith(DERIVED)}


async def expected(registry: Registry, folder: Path) -> dict[str, object]:
    """Return the expected content: a copy rebuilt from the tables."""
    fresh = LmdbEdge(folder)
    await fresh.clear()
    await rebuild(registry.app.store, fresh, registry.app.clock.now)
    meaning = await meaning_of(fresh)
    await fresh.close()
    return meaning


async def add_listings(db: AsyncConnection, number: int) -> None:
    """Insert live listings by SQL."""
    repository = text("INSERT INTO repository (host, owner, name) VALUES ('github', 'bulk', 'bulk') RETURNING id")
    repository_id = (await db.execute(repository)).scalar_one()
    await db.execute(
        text("INSERT INTO content (digest, files, file_count, size_bytes) VALUES (:digest, '[]', 1, 1)"),
        {"digest": DIGEST},
    )
    await db.execute(
        text(
            "INSERT INTO scan (content_digest, tier, engine, ruleset, has_code, outcome, decision, score, duration_ms)"
            " VALUES (:digest, 1, 'test', '1', false, 'PASS', 'approve', 90, 1)"
        ),
        {"digest": DIGEST},
    )
    await db.execute(text(MANY), {"repository_id": repository_id, "number": number, "digest": DIGEST})


def _without_serial(raw: bytes | None) -> object:
    assert raw is not None
    decoded = msgspec.msgpack.decode(raw)
    decoded.pop("serial")
    return decoded


NAMES = ("pdf", "csv", "greet", "draw")
WHY = StatusReason("owner_request", "The owner asked for it.", datetime(2026, 7, 1, tzinfo=UTC), "somebody")


async def publish(registry: Registry, *names: str) -> None:
    """Publish skills of acme/tools."""
    registry.github.add_repository("acme/tools", files=a_repository(*NAMES))
    for name in names:
        await registry.submit("acme/tools", name, f"skills/{name}/SKILL.md")
    await registry.work()


async def take_down(registry: Registry, name: str) -> None:
    """Unlist a skill."""
    async with registry.app.store.begin() as db:
        await unlist(db, name, WHY)
