"""Search: a new search document, indexes for the orders of lists, and the registry's own probes."""

from assay.store.migrations.statements import run

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """The search document of every listing is made anew, which takes about two minutes for a million."""
    run("0007_search.sql")
