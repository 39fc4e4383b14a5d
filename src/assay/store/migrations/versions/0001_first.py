"""The first schema: queue, submissions, contents, scans, skills and changes."""

from assay.store.migrations.statements import run

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create PgQueuer's tables (as of its release 1.6), then our own."""
    run("0001_queue.sql")
    run("0001_first.sql")
