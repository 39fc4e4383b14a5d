"""Reviews, appeals, suppressions, security reports, and an index of submissions by content."""

from assay.store.migrations.statements import run

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    run("0013_people.sql")
