"""The submissions that stand for skills: found by what they are about, many at once."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import REOPENED_BY_RESUBMISSION, Submission
from assay.store.database.records import json_text
from assay.store.repositories.repositories import COLUMNS as REPOSITORY_COLUMNS
from assay.store.submissions.submissions import COLUMNS, submission_of
from assay.store.tables.base import quoted

NaturalKey = tuple[int, str, str]
ROW = ", ".join(
    [
        *(f"submission.{column.name}" for column in COLUMNS),
        *(f"repository.{column.name}" for column in REPOSITORY_COLUMNS),
    ]
)
FIND = text(
    f"""
    SELECT {ROW}
    FROM jsonb_to_recordset(CAST(:keys AS jsonb)) AS wanted (repository_id bigint, skill_name text, skill_path text)
    JOIN submission USING (repository_id, skill_name, skill_path)
    JOIN repository ON repository.id = submission.repository_id
    """
)
OF_REPOSITORY = text(
    f"""
    SELECT {ROW} FROM submission JOIN repository ON repository.id = submission.repository_id
    WHERE submission.repository_id = :repository_id
    ORDER BY submission.skill_path, submission.created_at
    LIMIT :at_most
    """
)
# Only what is decided is locked, in the order of ids: a worker writes to what is active, so the two never wait
# for each other crosswise. Rows that left these states while we waited are left out.
LOCK = text(
    f"""
    SELECT {ROW} FROM submission JOIN repository ON repository.id = submission.repository_id
    WHERE submission.id = ANY(:ids) AND submission.state IN ({quoted(REOPENED_BY_RESUBMISSION)})
    ORDER BY submission.id
    FOR NO KEY UPDATE OF submission
    """
)


async def find_standing(db: AsyncConnection, keys: Sequence[NaturalKey]) -> dict[NaturalKey, Submission]:
    """The submissions of these skills, as far as there are any."""
    if not keys:
        return {}
    wanted = [{"repository_id": number, "skill_name": name, "skill_path": path} for number, name, path in keys]
    return _by_key((await db.execute(FIND, {"keys": json_text(wanted)})).all())


async def list_standing(db: AsyncConnection, repository_id: int, at_most: int) -> dict[str, Submission]:
    """The submissions of a repository by the path of their skill; of several for a path, the newest."""
    rows = await db.execute(OF_REPOSITORY, {"repository_id": repository_id, "at_most": at_most})
    return {each.skill_path: each for each in map(submission_of, rows)}


async def lock_standing(db: AsyncConnection, ids: Sequence[UUID]) -> dict[NaturalKey, Submission]:
    """Those that can be reopened, locked until the end of the transaction; the others as they have become."""
    if not ids:
        return {}
    locked = _by_key((await db.execute(LOCK, {"ids": list(ids)})).all())
    missing = set(ids) - {each.id for each in locked.values()}
    if not missing:
        return locked
    now = text(
        f"SELECT {ROW} FROM submission JOIN repository ON repository.id = submission.repository_id "
        "WHERE submission.id = ANY(:ids)"
    )
    return locked | _by_key((await db.execute(now, {"ids": list(missing)})).all())


def _by_key(rows: Sequence[Sequence[object]]) -> dict[NaturalKey, Submission]:
    found = map(submission_of, rows)
    return {(each.repository.id, each.skill_name, each.skill_path): each for each in found}
