"""Installs by day, and former names of repositories by repository."""

from assay.store.migrations.statements import run

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Create a table and two small indexes."""
    run("0008_versions.sql")
