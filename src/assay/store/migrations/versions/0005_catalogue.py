"""Listing status, aliases, tags, installs and the blocklist."""

from assay.store.migrations.statements import run

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add columns with constant defaults and new tables. Only the counters are recomputed, in one pass."""
    run("0005_catalogue.sql")
