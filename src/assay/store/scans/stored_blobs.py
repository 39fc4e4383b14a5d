"""Stored blobs: which ones may exist, and which of them nothing needs any more.

A blob is needed while some code path can ask for it: readers get digests only from the rows in IS_USED.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import any_, literal, select, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import Text

from assay.model.deep_scan import DeepStatus
from assay.model.skill import RESTORABLE_FOR, ListingStatus
from assay.model.submission import State
from assay.store.tables import registry, stored_blob

# Rows per statement. Literals, because the planner must know that they are few.
PAGE, CHUNK = 1_000, 50
# A deleted listing can be restored for a while; nothing reads its versions after that.
IS_KEPT = f"""
    (skill.standing <> '{ListingStatus.DELETED}'
        OR skill.standing_at > now() - interval '{RESTORABLE_FOR.total_seconds():.0f} seconds')
"""
IS_KEPT_SUBMISSION = f"(submission.state <> '{State.PUBLISHED}' OR {IS_KEPT})"
# Of deep scans, only those that a node has claimed: without nodes they wait for ever.
# Not EXISTS, for which the planner may read whole tables: each of these is one look into an index.
IS_USED = f"""
    coalesce((
        SELECT true FROM skill_version JOIN skill ON skill.id = skill_version.skill_id
        WHERE skill_version.content_digest = stored_blob.digest AND {IS_KEPT} LIMIT 1
    ), (
        SELECT true FROM submission LEFT JOIN skill ON skill.id = submission.skill_id
        WHERE submission.content_digest = stored_blob.digest AND {IS_KEPT_SUBMISSION} LIMIT 1
    ), (
        SELECT true FROM submission LEFT JOIN skill ON skill.id = submission.skill_id
        WHERE submission.upload_digest = stored_blob.digest AND {IS_KEPT_SUBMISSION} LIMIT 1
    ), (
        SELECT true FROM second_look WHERE second_look.content_digest = stored_blob.digest
    ), (
        SELECT true FROM deep_scan WHERE deep_scan.content_digest = stored_blob.digest
            AND deep_scan.status = '{DeepStatus.RUNNING}' LIMIT 1
    ), false)
"""
# In order, so that concurrent statements do not deadlock. Waits for a transaction that is deleting the row.
RECORD = text(
    """
    INSERT INTO stored_blob (digest, size_bytes, uploaded_by)
    SELECT digest, size_bytes, CAST(:uploaded_by AS text)
    FROM unnest(CAST(:digests AS text[]), CAST(:sizes AS bigint[])) AS given (digest, size_bytes) ORDER BY 1
    ON CONFLICT (digest) DO UPDATE SET size_bytes = excluded.size_bytes, unused_since = NULL,
        uploaded_by = coalesce(excluded.uploaded_by, stored_blob.uploaded_by)
    """
)
KEEP = text(
    """
    UPDATE stored_blob SET unused_since = NULL
    FROM (
        SELECT digest FROM stored_blob WHERE digest = ANY(CAST(:digests AS text[])) ORDER BY digest FOR UPDATE
    ) AS kept
    WHERE stored_blob.digest = kept.digest
    RETURNING stored_blob.digest
    """
)
ADD_UNKNOWN = text(
    """
    INSERT INTO stored_blob (digest, size_bytes)
    SELECT * FROM unnest(CAST(:digests AS text[]), CAST(:sizes AS bigint[])) AS found (digest, size_bytes)
    WHERE NOT EXISTS (SELECT FROM stored_blob WHERE stored_blob.digest = found.digest)
    ORDER BY 1
    ON CONFLICT DO NOTHING
    """
)
# Locked rows are being saved or deleted.
MARK_UNUSED = text(
    f"""
    WITH page AS MATERIALIZED (
        SELECT digest, unused_since IS NULL AND NOT ({IS_USED}) AS is_unused
        FROM stored_blob WHERE digest > :after ORDER BY digest LIMIT {PAGE}
    ), free AS (
        SELECT digest FROM stored_blob WHERE digest IN (SELECT digest FROM page WHERE is_unused)
        FOR UPDATE SKIP LOCKED
    ), marked AS (
        UPDATE stored_blob SET unused_since = now() FROM free WHERE stored_blob.digest = free.digest
    )
    SELECT max(digest) AS last, count(*) AS number FROM page
    """
)
DELETE_UNUSED = text(
    f"""
    WITH due AS MATERIALIZED (
        SELECT digest, size_bytes, {IS_USED} AS is_used
        FROM stored_blob WHERE unused_since < now() - make_interval(secs => :seconds)
        ORDER BY unused_since LIMIT {CHUNK} FOR UPDATE SKIP LOCKED
    ), kept AS (
        UPDATE stored_blob SET unused_since = NULL FROM due WHERE stored_blob.digest = due.digest AND due.is_used
    ), deleted AS (
        DELETE FROM stored_blob USING due WHERE stored_blob.digest = due.digest AND NOT due.is_used
    )
    SELECT digest, size_bytes, is_used FROM due
    """
)


@dataclass(frozen=True, slots=True)
class UnusedBlobs:
    """Blobs whose rows were deleted, by digest with their sizes; `is_last` if no more are due."""

    sizes: Mapping[str, int]
    is_last: bool


async def record_blobs(db: AsyncConnection, sizes: Mapping[str, int], *, uploaded_by: str | None = None) -> None:
    """Record blobs by digest with the sizes of their files, and the namespace of an upload.

    To be committed before the blobs are written.
    """
    await db.execute(RECORD, _columns(sizes) | {"uploaded_by": uploaded_by})


async def add_unknown_blobs(db: AsyncConnection, sizes: Mapping[str, int]) -> int:
    """Record blobs that were found in the blob store; return how many were not recorded."""
    return (await db.execute(ADD_UNKNOWN, _columns(sizes))).rowcount


async def mark_unused_blobs(db: AsyncConnection, after: str | None) -> str | None:
    """Mark the unused blobs of the next page in the order of digests; return its last digest, None at the end."""
    row = (await db.execute(MARK_UNUSED, {"after": after or ""})).one()
    return str(row.last) if row.number == PAGE else None


async def delete_unused_blobs(db: AsyncConnection, unused_for: timedelta) -> UnusedBlobs:
    """Delete some rows of blobs that were unused when they were marked, this long ago, and still are.

    Until the transaction ends, `record_blobs` of the same digests waits.
    """
    rows = (await db.execute(DELETE_UNUSED, {"seconds": unused_for.total_seconds()})).all()
    return UnusedBlobs({row.digest: row.size_bytes for row in rows if not row.is_used}, len(rows) < CHUNK)


async def keep_blobs(db: AsyncConnection, digests: Iterable[str]) -> set[str]:
    """Keep blobs until the transaction ends that get a new use in it; return those that were not collected before."""
    return set((await db.execute(KEEP, {"digests": sorted(set(digests))})).scalars())


async def find_recorded(db: AsyncConnection, digests: Iterable[str]) -> set[str]:
    """Return those of the digests that are recorded."""
    wanted = literal(sorted(set(digests)), ARRAY(Text))
    return set((await db.execute(select(stored_blob.c.digest).where(stored_blob.c.digest == any_(wanted)))).scalars())


async def read_registry_id(db: AsyncConnection) -> UUID:
    """Return the identity of this database, which a copy of it shares."""
    found: UUID = (await db.execute(select(registry.c.id))).scalar_one()
    return found


def _columns(sizes: Mapping[str, int]) -> dict[str, object]:
    return {"digests": list(sizes), "sizes": list(sizes.values())}
