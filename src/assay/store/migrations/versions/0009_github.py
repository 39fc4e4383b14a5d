"""Allowances and answers of GitHub that all processes share; repositories of other hosts."""

from assay.store.migrations.statements import run

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Three new tables, and a wider check."""
    run("0009_github.sql")
