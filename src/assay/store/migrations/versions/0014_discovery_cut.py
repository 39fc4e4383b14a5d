"""How much of what there is a source of discovery was not shown."""

from assay.store.migrations.statements import run

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Two counters of each source."""
    run("0014_discovery_cut.sql")
