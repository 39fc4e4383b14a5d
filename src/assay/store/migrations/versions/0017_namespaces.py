"""Namespaces with owners, scopes of tokens, fair queueing, and collected blobs."""

from assay.store.migrations.statements import run

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    run("0017_namespaces.sql")
    run("0017_owners.sql")
