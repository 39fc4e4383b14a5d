"""The public blocklist: all entries, its changes, and the check of one skill."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.blocklist import BlocklistEntry, BlocklistTarget
from assay.model.change import ChangeKind
from assay.model.errors import Unavailable
from assay.model.repository import RepositoryName
from assay.model.skill import repository_key, slug_of
from assay.model.submission import State, Submission
from assay.store.feed.changes import Change, newest_change, read_changes
from assay.store.moderation.blocklist import check_blocklist, list_blocklist
from assay.store.repositories.repositories import find_repository
from assay.store.submissions.submissions import list_by_path

MAX_ENTRIES = 50_000
MAX_PER_REPOSITORY = 1_000
KINDS = (ChangeKind.BLOCK, ChangeKind.UNBLOCK)
REFUSED = frozenset({State.TIER1_FAILED, State.REJECTED})


@dataclass(frozen=True)
class Blocklist:
    """Every entry in force, and the last change of the list."""

    entries: list[BlocklistEntry]
    last: Change | None


@dataclass(frozen=True)
class BlocklistCheck:
    """The blocklist entry and the refused submission that match a skill, if any."""

    entry: BlocklistEntry | None
    refused: Submission | None


async def read_blocklist(db: AsyncConnection) -> Blocklist:
    """Return all entries, because mirrors need the complete list; raises Unavailable if there are too many."""
    entries = await list_blocklist(db, limit=MAX_ENTRIES + 1)
    if len(entries) > MAX_ENTRIES:
        raise Unavailable(
            f"The blocklist has more than {MAX_ENTRIES} entries. Follow its changes instead.", code="blocklist_too_long"
        )
    return Blocklist(entries, await newest_change(db, KINDS))


async def read_blocklist_changes(db: AsyncConnection, since: int, limit: int) -> list[Change]:
    """Return entries added or lifted after a serial of the change feed, in order."""
    return await read_changes(db, since, limit, KINDS)


async def check_skill(
    db: AsyncConnection, *, name: str | None, repository: RepositoryName | None, digest: str | None
) -> BlocklistCheck:
    """Check a skill by name, repository or digest against the blocklist and against refused submissions."""
    slug = slug_of(name.rpartition("/")[2]) if name else None
    key = repository_key(repository) if repository else None
    if key is None and name and name.count("/") == 2:
        key = name.lower().rpartition("/")[0]
    entry = await check_blocklist(db, BlocklistTarget(digest, key, slug))
    return BlocklistCheck(entry, await _refused(db, repository, slug) if repository and slug else None)


async def _refused(db: AsyncConnection, name: RepositoryName, slug: str) -> Submission | None:
    known = await find_repository(db, name)
    if known is None:
        return None
    submissions = await list_by_path(db, known.id, MAX_PER_REPOSITORY)
    return next(
        (each for each in submissions.values() if each.state in REFUSED and slug_of(each.skill_name) == slug), None
    )


def last_updated(blocklist: Blocklist) -> datetime | None:
    return blocklist.last.created_at if blocklist.last else None
