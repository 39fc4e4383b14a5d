"""Call budgets and cached responses of GitHub, and repositories of other hosts."""

from assay.store.migrations.statements import run

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Create three tables and extend a check."""
    run("0009_github.sql")
