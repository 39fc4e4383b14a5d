"""What contents reach for, as the last static scan of each saw it."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.capability import Capabilities
from assay.store.tables import scan


async def find_capabilities(db: AsyncConnection, digests: Sequence[str]) -> dict[str, Capabilities]:
    """By digest; what was never scanned is left out."""
    statement = (
        select(scan.c.content_digest, scan.c.capabilities)
        .where(scan.c.content_digest.in_(set(digests)), scan.c.tier == 1, scan.c.outcome != "ERROR")
        .order_by(scan.c.created_at, scan.c.id)
    )
    # The last of each digest stays.
    return {digest: msgspec.convert(found, Capabilities) for digest, found in await db.execute(statement)}
