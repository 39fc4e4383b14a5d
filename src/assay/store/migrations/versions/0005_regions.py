"""Findings say what they stand in."""

from assay.store.migrations.statements import run

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """A column without a default: no row is rewritten, all are read once, and the previous release leaves it empty."""
    run("0005_regions.sql")
