"""Responses of GitHub with their ETags, shared by all processes."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert as upsert

from assay.model.github import CachedResponse
from assay.store.database.database import Database
from assay.store.tables import github_answer


@dataclass(frozen=True)
class DatabaseResponseStore:
    """A response cache in the database; `operations/expire.py` deletes old entries."""

    store: Database

    async def find(self, key: str, url: str) -> CachedResponse | None:
        statement = select(github_answer.c.etag, github_answer.c.body)
        async with self.store.begin() as db:
            row = (
                await db.execute(statement.where(github_answer.c.key == key, github_answer.c.url == url))
            ).one_or_none()
        return CachedResponse(key, url, row.etag, row.body) if row else None

    async def keep(self, answers: Sequence[CachedResponse]) -> None:
        """Insert or replace responses, in the order of keys so that concurrent calls do not deadlock."""
        rows = [
            {"key": each.key, "url": each.url, "etag": each.etag, "body": each.body}
            for each in sorted(answers, key=lambda each: (each.key, each.url))
        ]
        fresh = upsert(github_answer).values(rows)
        updated = {"etag": fresh.excluded.etag, "body": fresh.excluded.body, "kept_at": func.now()}
        async with self.store.begin() as db:
            await db.execute(
                fresh.on_conflict_do_update(index_elements=[github_answer.c.key, github_answer.c.url], set_=updated)
            )
