"""Results that a discovery source did not show."""

from assay.store.migrations.statements import run

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    run("0014_discovery_cut.sql")
