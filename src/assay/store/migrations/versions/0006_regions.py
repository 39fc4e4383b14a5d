"""Findings say what they stand in."""

from assay.store.migrations.statements import run

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """A column without a default: no row is rewritten, all are read once, and the previous release leaves it empty."""
    run("0006_regions.sql")
