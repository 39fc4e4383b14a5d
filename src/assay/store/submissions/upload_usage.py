"""The bytes that the uploads of a namespace keep stored, including those that are waiting to be deleted."""

from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.database.locks import UPLOADS, lock_key
from assay.store.scans.stored_blobs import IS_KEPT, IS_KEPT_SUBMISSION, IS_USED

LOCK = text("SELECT pg_advisory_xact_lock(:space, :name)")
OF_NAMESPACE = """
    repository.host = 'upload' AND lower(repository.owner) = :namespace AND repository.merged_into_id IS NULL
"""
USAGE = text(
    f"""
    WITH kept (digest) AS MATERIALIZED (
        SELECT skill_version.content_digest
        FROM repository
        JOIN skill ON skill.repository_id = repository.id
        JOIN skill_version ON skill_version.skill_id = skill.id
        WHERE {OF_NAMESPACE} AND {IS_KEPT}
        UNION
        SELECT unnest(ARRAY[submission.upload_digest, submission.content_digest])
        FROM repository
        JOIN submission ON submission.repository_id = repository.id
        LEFT JOIN skill ON skill.id = submission.skill_id
        WHERE {OF_NAMESPACE} AND {IS_KEPT_SUBMISSION}
    ), left_over AS MATERIALIZED (
        SELECT digest FROM stored_blob WHERE uploaded_by = :namespace
        EXCEPT SELECT digest FROM kept
    ), counted AS (
        SELECT digest FROM kept
        UNION ALL
        SELECT digest FROM left_over JOIN stored_blob USING (digest) WHERE NOT {IS_USED}
    )
    SELECT CAST(coalesce(sum(size_bytes), 0) AS bigint) AS used_bytes,
        coalesce(bool_or(digest = :digest), false) AS has_digest
    FROM (
        SELECT digest, (SELECT size_bytes FROM stored_blob WHERE stored_blob.digest = counted.digest) FROM counted
    ) AS sized
    """
)


@dataclass(frozen=True, slots=True)
class UploadUsage:
    """The bytes of all distinct contents, and whether a given content is one of them."""

    used_bytes: int
    has_digest: bool


async def lock_uploads(db: AsyncConnection, namespace: str) -> None:
    """Let one upload to the namespace at a time be counted, until the transaction ends."""
    await db.execute(LOCK, {"space": UPLOADS, "name": lock_key(namespace)})


async def read_upload_usage(db: AsyncConnection, namespace: str, digest: str = "") -> UploadUsage:
    """Count the contents of the namespace's versions and submissions, and former ones that are not deleted yet.

    The cost grows with their number only.
    """
    row = (await db.execute(USAGE, {"namespace": namespace, "digest": digest})).one()
    return UploadUsage(row.used_bytes, row.has_digest)
