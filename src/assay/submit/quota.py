"""The quota of bytes for uploads."""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import QuotaExceeded
from assay.model.namespace import OPERATOR_NAMESPACE
from assay.model.skill import RESTORABLE_FOR
from assay.model.source import Source
from assay.store.scans.stored_blobs import record_blobs
from assay.store.submissions.upload_usage import lock_uploads, read_upload_usage

MIB = 1024 * 1024


async def reserve_upload(db: AsyncConnection, namespace: str, source: Source, limit: int) -> None:
    """Count an upload against the quota of its namespace; 0 is no quota. To be committed before the files are saved.

    Raises QuotaExceeded. The files count even if the upload is refused afterwards, until they are deleted.
    """
    if limit == 0 or namespace == OPERATOR_NAMESPACE:
        return
    await lock_uploads(db, namespace)
    usage, new_bytes = await read_upload_usage(db, namespace, source.digest), source.manifest.size_bytes
    if not usage.has_digest and usage.used_bytes + new_bytes > limit:
        raise QuotaExceeded(
            f"The uploads of {namespace} use {_mib(usage.used_bytes)} of {_mib(limit)}, and this one needs"
            f" {_mib(new_bytes)}. Delete listings that you do not need. The files of deleted listings count for"
            f" {RESTORABLE_FOR.days + 1} more days, those of uploads that were replaced or refused for up to two."
        )
    await record_blobs(db, {source.digest: new_bytes}, uploaded_by=namespace)


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / MIB:,.1f} MiB"
