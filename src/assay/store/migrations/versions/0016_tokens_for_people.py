"""Tokens of accounts."""

from assay.store.migrations.statements import run

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    run("0016_tokens_for_people.sql")
