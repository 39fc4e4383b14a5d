"""Contents: what a digest stands for."""

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.source import FileEntry, Manifest
from assay.store.tables import content


async def save_content(db: AsyncConnection, manifest: Manifest) -> None:
    """Idempotent: equal bytes have one row, whoever brings them."""
    files = [[entry.path, entry.size, entry.sha256] for entry in manifest.files]
    statement = upsert(content).values(
        digest=manifest.digest, files=files, file_count=len(files), size_bytes=manifest.size_bytes
    )
    await db.execute(statement.on_conflict_do_nothing())


async def list_files(db: AsyncConnection, digest: str) -> list[FileEntry]:
    """The files behind a digest, in path order; empty if the digest is unknown."""
    files = (await db.execute(select(content.c.files).where(content.c.digest == digest))).scalar_one_or_none()
    return [FileEntry(path, size, sha256) for path, size, sha256 in files or []]
