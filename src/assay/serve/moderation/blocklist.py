"""The blocklist as others read it: all of it, what has changed since, and whether one skill is on it."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.blocklist import BlocklistEntry, Target
from assay.model.change import ChangeKind
from assay.model.errors import Unavailable
from assay.model.naming import repository_key, slug_of
from assay.model.repository import RepositoryName
from assay.model.submission import State, Submission
from assay.store.feed.changes import Change, newest_change, read_changes
from assay.store.moderation.blocklist import check_blocklist, list_blocklist
from assay.store.repositories.repositories import find_repository
from assay.store.submissions.lookup import list_standing

MOST = 50_000
MOST_OF_A_REPOSITORY = 1_000
KINDS = (ChangeKind.BLOCK, ChangeKind.UNBLOCK)
REFUSED = frozenset({State.TIER1_FAILED, State.REJECTED})


@dataclass(frozen=True)
class Blocklist:
    """Every entry that holds, and the last change of the list."""

    entries: list[BlocklistEntry]
    last: Change | None


@dataclass(frozen=True)
class Standing:
    """What is known against a skill."""

    entry: BlocklistEntry | None
    refused: Submission | None


async def read_blocklist(db: AsyncConnection) -> Blocklist:
    """All of it: whoever keeps a copy needs the whole."""
    entries = await list_blocklist(db, limit=MOST + 1)
    if len(entries) > MOST:
        raise Unavailable(f"The blocklist has more than {MOST} entries; follow its changes.", code="blocklist_too_long")
    return Blocklist(entries, await newest_change(db, KINDS))


async def read_blocklist_changes(db: AsyncConnection, since: int, limit: int) -> list[Change]:
    """What was added or lifted after a serial of the change feed, in order."""
    return await read_changes(db, since, limit, KINDS)


async def check_skill(
    db: AsyncConnection, *, name: str | None, repository: RepositoryName | None, digest: str | None
) -> Standing:
    """Whether a skill is blocked, by any of what is known of it, or was refused here."""
    slug = slug_of(name.rpartition("/")[2]) if name else None
    key = repository_key(repository) if repository else None
    if key is None and name and name.count("/") == 2:
        key = name.lower().rpartition("/")[0]
    entry = await check_blocklist(db, Target(digest, key, slug))
    return Standing(entry, await _refused(db, repository, slug) if repository and slug else None)


async def _refused(db: AsyncConnection, name: RepositoryName, slug: str) -> Submission | None:
    known = await find_repository(db, name)
    if known is None:
        return None
    submissions = await list_standing(db, known.id, MOST_OF_A_REPOSITORY)
    return next(
        (each for each in submissions.values() if each.state in REFUSED and slug_of(each.skill_name) == slug), None
    )


def last_updated(blocklist: Blocklist) -> datetime | None:
    """When the list last changed."""
    return blocklist.last.created_at if blocklist.last else None
