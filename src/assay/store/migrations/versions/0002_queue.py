"""The complete queue: lists in every order, jobs that are found by their subject, pauses, chores, alarms, audit."""

from assay.store.migrations.statements import run

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Jobs that wait get the key by which they are found from now on."""
    run("0002_queue.sql")
