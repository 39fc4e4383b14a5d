"""Contents: what a digest stands for."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.source import FileEntry
from assay.store.tables import content


async def list_files(db: AsyncConnection, digest: str) -> list[FileEntry]:
    """The files behind a digest, in path order; empty if the digest is unknown."""
    files = (await db.execute(select(content.c.files).where(content.c.digest == digest))).scalar_one_or_none()
    return [FileEntry(path, size, sha256) for path, size, sha256 in files or []]
