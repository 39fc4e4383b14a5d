"""Capabilities of scans."""

from assay.store.migrations.statements import run

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add a column with a constant default: no row is rewritten, and the previous release keeps working."""
    run("0004_capabilities.sql")
