"""Deep scans, the nodes that run them, and what they deliver."""

from assay.store.migrations.statements import run

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Three new tables."""
    run("0012_deep_scans.sql")
