"""Discovery: sources, runs, records, known repositories, and the origin of submissions."""

from assay.store.migrations.statements import run

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Create tables and add an origin of submissions."""
    run("0010_discovery.sql")
