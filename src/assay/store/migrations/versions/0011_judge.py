"""The judge: judgements and their cost, rescans, replays, and two kinds of signing keys."""

from assay.store.migrations.statements import run

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Create tables and add empty columns; no row is rewritten."""
    run("0011_judge.sql")
