"""Scans keep what the skill reaches for."""

from assay.store.migrations.statements import run

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """A column with a constant default: no row is rewritten, and the previous release does not notice it."""
    run("0004_capabilities.sql")
