"""Pages of the change feed, for mirrors and other followers."""

from dataclasses import dataclass

from assay.model.change import PUBLIC_KINDS
from assay.store.database.database import Database
from assay.store.feed.changes import Change, number_changes, read_changes


@dataclass(frozen=True)
class ChangesPage:
    """Changes in order, the serial to continue from, and whether there are more."""

    changes: list[Change]
    next_since: int
    has_more: bool


async def follow_changes(store: Database, *, since: int, limit: int) -> ChangesPage:
    """Return public changes after a serial. Assigns serials first, so that no change is skipped if it commits late."""
    async with store.begin() as db:
        await number_changes(db)
    async with store.begin() as db:
        changes = await read_changes(db, since, limit + 1, PUBLIC_KINDS)
    page = changes[:limit]
    return ChangesPage(page, page[-1].serial if page else since, len(changes) > limit)
