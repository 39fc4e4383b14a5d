"""Deep scans, scan nodes and webhook deliveries."""

from assay.store.migrations.statements import run

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    run("0012_deep_scans.sql")
