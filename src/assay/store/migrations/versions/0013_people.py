"""Reviews, appeals, suppressions and security reports; submissions by their content."""

from assay.store.migrations.statements import run

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """New tables, and an index of submissions."""
    run("0013_people.sql")
