"""The judge: what it said and cost, what is looked at again, what other rules would say, and keys of two kinds."""

from assay.store.migrations.statements import run

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """New tables, and columns that are empty at first: nothing is rewritten."""
    run("0011_judge.sql")
