"""Listings that can go and come back, other names, tags, installs, the blocklist."""

from assay.store.migrations.statements import run

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Columns with constant defaults and new tables. Only the counters are made anew, by one look at all listings."""
    run("0005_catalogue.sql")
