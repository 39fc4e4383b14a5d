"""Former names of repositories, by repository."""

from assay.store.migrations.statements import run

revision = "0008"
down_revision = "0005"


def upgrade() -> None:
    """One small index."""
    run("0008_versions.sql")
