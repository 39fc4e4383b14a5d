"""The region of findings."""

from assay.store.migrations.statements import run

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add a column without a default: rows are read but not rewritten, and the previous release leaves it empty."""
    run("0006_regions.sql")
