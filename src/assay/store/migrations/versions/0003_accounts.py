"""Accounts, sessions and sign-in attempts."""

from assay.store.migrations.statements import run

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create new tables only; the previous release keeps working."""
    run("0003_accounts.sql")
