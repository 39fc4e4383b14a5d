"""Which rules each process works by."""

from assay.store.migrations.statements import run

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """A column of each process."""
    run("0015_rulesets_of_processes.sql")
