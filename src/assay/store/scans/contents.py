"""Contents: what a digest stands for."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.source import FileEntry
from assay.store.tables import content


async def list_files(db: AsyncConnection, digest: str) -> list[FileEntry]:
    """The files behind a digest, in path order; empty if the digest is unknown."""
    return (await find_files(db, [digest])).get(digest, [])


async def find_files(db: AsyncConnection, digests: Sequence[str]) -> dict[str, list[FileEntry]]:
    """The files behind each of these digests that is known, in path order."""
    rows = await db.execute(select(content.c.digest, content.c.files).where(content.c.digest.in_(set(digests))))
    return {digest: [FileEntry(path, size, sha256) for path, size, sha256 in files] for digest, files in rows}
