"""Search: a new search document, indexes for the orders of lists, and search probes."""

from assay.store.migrations.statements import run

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Rebuild the search document of every listing, which takes about two minutes for a million."""
    run("0007_search.sql")
