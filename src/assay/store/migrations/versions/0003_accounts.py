"""Accounts, their sessions, and attempts to sign in."""

from assay.store.migrations.statements import run

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """New tables only; the previous release does not notice them."""
    run("0003_accounts.sql")
