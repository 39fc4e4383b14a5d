"""The ruleset of each process."""

from assay.store.migrations.statements import run

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    run("0015_rulesets_of_processes.sql")
