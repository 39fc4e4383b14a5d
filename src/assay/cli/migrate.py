"""`assay migrate`: bring the database schema up to date."""

from assay import settings
from assay.app.app import database_url
from assay.cli.process.stopping import run_async
from assay.store.database.database import open_database
from assay.store.database.migrate import head
from assay.store.database.migrate import migrate as run_migrations


def migrate() -> None:
    """Bring the database schema up to date. It is safe to run at any time, and on several machines at once."""
    run_async(migrate_database(database_url(settings.read())))
    print(f"The database schema is at {head()}.")


async def migrate_database(url: str) -> None:
    """Run the missing migrations on the database at this URL."""
    async with open_database(url) as store:
        await run_migrations(store)
