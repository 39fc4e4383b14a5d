"""Contents by digest: their files and capabilities."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.finding import Capabilities
from assay.model.source import FileEntry
from assay.store.tables import content, scan


async def list_files(db: AsyncConnection, digest: str) -> list[FileEntry]:
    """Return the files with this content digest in path order; empty if the digest is unknown."""
    return (await find_files(db, [digest])).get(digest, [])


async def find_files(db: AsyncConnection, digests: Sequence[str]) -> dict[str, list[FileEntry]]:
    """Return the files of each known content, in path order."""
    rows = await db.execute(select(content.c.digest, content.c.files).where(content.c.digest.in_(set(digests))))
    return {digest: [FileEntry(path, size, sha256) for path, size, sha256 in files] for digest, files in rows}


async def find_capabilities(db: AsyncConnection, digests: Sequence[str]) -> dict[str, Capabilities]:
    """Return the capabilities of each content from its last static scan; others are left out."""
    statement = (
        select(scan.c.content_digest, scan.c.capabilities)
        .where(scan.c.content_digest.in_(set(digests)), scan.c.tier == 1, scan.c.outcome != "ERROR")
        .order_by(scan.c.created_at, scan.c.id)
    )
    # In order of time, so the last scan of each digest wins.
    return {digest: msgspec.convert(found, Capabilities) for digest, found in await db.execute(statement)}
