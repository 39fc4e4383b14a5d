"""Answers of GitHub with their ETags, for all processes."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert as upsert

from assay.model.cached_response import KeptAnswer
from assay.store.database.database import Database
from assay.store.tables import github_answer


@dataclass(frozen=True)
class AnswerShelf:
    """The shelf in the database; what is old or too much goes with the other old records."""

    store: Database

    async def find(self, key: str, url: str) -> KeptAnswer | None:
        """An answer that some process got before."""
        statement = select(github_answer.c.etag, github_answer.c.body)
        async with self.store.begin() as db:
            row = (
                await db.execute(statement.where(github_answer.c.key == key, github_answer.c.url == url))
            ).one_or_none()
        return KeptAnswer(key, url, row.etag, row.body) if row else None

    async def keep(self, answers: Sequence[KeptAnswer]) -> None:
        """In place of what was there before; in one order, so that two processes do not wait for each other."""
        rows = [
            {"key": each.key, "url": each.url, "etag": each.etag, "body": each.body}
            for each in sorted(answers, key=lambda each: (each.key, each.url))
        ]
        fresh = upsert(github_answer).values(rows)
        anew = {"etag": fresh.excluded.etag, "body": fresh.excluded.body, "kept_at": func.now()}
        async with self.store.begin() as db:
            await db.execute(
                fresh.on_conflict_do_update(index_elements=[github_answer.c.key, github_answer.c.url], set_=anew)
            )
