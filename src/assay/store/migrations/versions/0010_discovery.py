"""Discovery: sources, runs, records, known answers; and submissions that came by it."""

from assay.store.migrations.statements import run

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """New tables, and one more word for where a submission came from."""
    run("0010_discovery.sql")
