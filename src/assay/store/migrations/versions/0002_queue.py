"""The complete queue: indexes for lists, job keys, pauses, periodic jobs, alarms and audit events."""

from assay.store.migrations.statements import run

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Set the keys of queued jobs."""
    run("0002_queue.sql")
