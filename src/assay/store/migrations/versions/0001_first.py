"""The first schema: queue, submissions, contents, scans, skills, changes."""

from assay.store.migrations.statements import run

revision = "0001"
down_revision = None


def upgrade() -> None:
    """The queue's own tables (as its release 1.6 declares them), then ours."""
    run("0001_queue.sql")
    run("0001_first.sql")
