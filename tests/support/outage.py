"""A PostgreSQL that is stopped and started again."""

from assay.model.errors import Unavailable
from assay.store.database.database import Database
from assay.store.database.embedded import EmbeddedServer


async def gone(server: EmbeddedServer) -> bool:
    """Return whether the server process has ended."""
    return not server.is_running()


async def answered(store: Database) -> bool:
    """Return whether the database responds again."""
    try:
        await store.ping()
    except Unavailable:
        return False
    return True
